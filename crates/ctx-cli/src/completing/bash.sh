# Bash completion for TOOL, which computes the values itself.

_TOOL() {
    local words=() current=0 last=-1 typed=$2 i word prefix reply
    # Remove the backslashes that the user typed, as in a\ name.
    typed=${typed//\\/}
    # Bash breaks words at = and :, which --flag=value contains.
    for ((i = 0; i < ${#COMP_WORDS[@]}; i++)); do
        word=${COMP_WORDS[i]//\\/}
        # Take only the part of the word before the cursor.
        if ((i == COMP_CWORD)) && [[ $word != [=:]* ]]; then
            word=$typed
        fi
        if ((last > 0)) && [[ $word == [=:]* || ${words[last]} == *[=:] ]]; then
            words[last]+=$word
        else
            words+=("$word")
            last=$((last + 1))
        fi
        if ((i == COMP_CWORD)); then
            current=$last
        fi
    done
    prefix=${words[current]%"$typed"}
    COMPREPLY=()
    while IFS= read -r reply || [[ -n $reply ]]; do
        COMPREPLY+=("${reply#"$prefix"}")
    done < <(
        CTX_COMPLETE=bash _CLAP_IFS=$'\n' _CLAP_COMPLETE_INDEX=$current \
            TOOL -- "${words[@]}" 2> /dev/null
    )
    # File names are quoted if necessary, and folders can be continued.
    if [[ -n ${COMPREPLY[0]-} && -e ${COMPREPLY[0]} ]]; then
        compopt -o filenames 2> /dev/null
    fi
}

# Bash before 4.4 sorts the completions.
complete -o bashdefault -o nosort -F _TOOL TOOL 2> /dev/null ||
    complete -o bashdefault -F _TOOL TOOL
