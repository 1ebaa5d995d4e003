#compdef TOOL
# Zsh completion for TOOL, which computes the values itself.

_TOOL() {
    local -a replies folders others
    local reply
    replies=("${(@f)$(
        CTX_COMPLETE=zsh _CLAP_IFS=$'\n' _CLAP_COMPLETE_INDEX=$((CURRENT - 1)) \
            TOOL -- "${words[@]}" 2> /dev/null
    )}")
    for reply in $replies; do
        # A folder can be continued after its slash.
        if [[ $reply == */ ]]; then
            folders+=("${reply%/}")
        else
            others+=("$reply")
        fi
    done
    [[ -n $folders ]] && _describe -V 'folder' folders -S '/' -r '/'
    [[ -n $others ]] && _describe -V 'value' others
}

# When zsh autoloads this file, the first call of the function runs the file itself.
if [[ $funcstack[1] == _TOOL ]]; then
    _TOOL "$@"
else
    compdef _TOOL TOOL
fi
