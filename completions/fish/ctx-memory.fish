# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_ctx_memory_global_optspecs
    string join \n q/quiet v/verbose color= h/help V/version
end

function __fish_ctx_memory_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_ctx_memory_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_ctx_memory_using_subcommand
    set -l cmd (__fish_ctx_memory_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c ctx-memory -n "__fish_ctx_memory_needs_command" -l color -d 'When to colour what is shown on a terminal' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c ctx-memory -n "__fish_ctx_memory_needs_command" -s q -l quiet -d 'Say nothing but errors'
complete -c ctx-memory -n "__fish_ctx_memory_needs_command" -s v -l verbose -d 'Say more on stderr (can be repeated)'
complete -c ctx-memory -n "__fish_ctx_memory_needs_command" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ctx-memory -n "__fish_ctx_memory_needs_command" -s V -l version -d 'Print version'
complete -c ctx-memory -n "__fish_ctx_memory_needs_command" -f -a "search" -d 'Rank what the store holds by the words of a query, the best first'
complete -c ctx-memory -n "__fish_ctx_memory_needs_command" -f -a "get" -d 'Print what a result of `ctx-memory search` refers to'
complete -c ctx-memory -n "__fish_ctx_memory_needs_command" -f -a "consolidate" -d 'Bring the memory of all sessions together in one file'
complete -c ctx-memory -n "__fish_ctx_memory_needs_command" -f -a "inject" -d 'Put together the context that a session begins with'
complete -c ctx-memory -n "__fish_ctx_memory_using_subcommand search" -s s -l session -d 'Search only what is of one session: its summary, snapshots and offloaded results, and entries of memory files that name it' -r
complete -c ctx-memory -n "__fish_ctx_memory_using_subcommand search" -l kind -d 'Search only this kind (can be repeated)' -r -f -a "extracted\t''
daily\t''
master\t''
soul\t''
summary\t''
snapshot\t''
offloaded\t''"
complete -c ctx-memory -n "__fish_ctx_memory_using_subcommand search" -l role -d 'Search only what this role said (can be repeated); results are said by tool' -r -f -a "system\t''
developer\t''
user\t''
assistant\t''
tool\t''
function\t''
other\t''"
complete -c ctx-memory -n "__fish_ctx_memory_using_subcommand search" -l since -d 'Search only what is not older than a day or a time: 2026-11-15, "1 week ago"' -r
complete -c ctx-memory -n "__fish_ctx_memory_using_subcommand search" -l before -d 'Search only what is older than a day or a time' -r
complete -c ctx-memory -n "__fish_ctx_memory_using_subcommand search" -l limit -d 'Print at most N results' -r
complete -c ctx-memory -n "__fish_ctx_memory_using_subcommand search" -l store -d 'Keep snapshots, memory and the audit log in DIR [default: `$XDG_STATE_HOME/ctx`, else ~/.local/state/ctx]' -r -F
complete -c ctx-memory -n "__fish_ctx_memory_using_subcommand search" -l color -d 'When to colour what is shown on a terminal' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c ctx-memory -n "__fish_ctx_memory_using_subcommand search" -s q -l quiet -d 'Say nothing but errors'
complete -c ctx-memory -n "__fish_ctx_memory_using_subcommand search" -s v -l verbose -d 'Say more on stderr (can be repeated)'
complete -c ctx-memory -n "__fish_ctx_memory_using_subcommand search" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ctx-memory -n "__fish_ctx_memory_using_subcommand get" -l store -d 'Keep snapshots, memory and the audit log in DIR [default: `$XDG_STATE_HOME/ctx`, else ~/.local/state/ctx]' -r -F
complete -c ctx-memory -n "__fish_ctx_memory_using_subcommand get" -l color -d 'When to colour what is shown on a terminal' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c ctx-memory -n "__fish_ctx_memory_using_subcommand get" -s q -l quiet -d 'Say nothing but errors'
complete -c ctx-memory -n "__fish_ctx_memory_using_subcommand get" -s v -l verbose -d 'Say more on stderr (can be repeated)'
complete -c ctx-memory -n "__fish_ctx_memory_using_subcommand get" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ctx-memory -n "__fish_ctx_memory_using_subcommand consolidate" -l max-tokens -d 'Let master.md have at most N tokens' -r
complete -c ctx-memory -n "__fish_ctx_memory_using_subcommand consolidate" -l encoding -d 'Count tokens with this encoding [default: the model\'s, else `o200k_base`]' -r -f -a "o200k_base\t''
o200k_harmony\t''
cl100k_base\t''
p50k_base\t''
r50k_base\t''
chars4\t''"
complete -c ctx-memory -n "__fish_ctx_memory_using_subcommand consolidate" -l model -d 'Count for this model: with its encoding, against its window' -r
complete -c ctx-memory -n "__fish_ctx_memory_using_subcommand consolidate" -l llm-url -d 'Server to ask; without one nothing is ever sent' -r
complete -c ctx-memory -n "__fish_ctx_memory_using_subcommand consolidate" -l llm-api -d 'API of the server [default: by the URL: anthropic where host or path name it, else openai]' -r -f -a "openai\t'Chat completions, as many servers speak them'
anthropic\t'Anthropic messages'"
complete -c ctx-memory -n "__fish_ctx_memory_using_subcommand consolidate" -l llm-model -d 'Model to ask for' -r
complete -c ctx-memory -n "__fish_ctx_memory_using_subcommand consolidate" -l llm-window -d 'Window of the model in tokens [default: as listed, else the server\'s, else 32000]' -r
complete -c ctx-memory -n "__fish_ctx_memory_using_subcommand consolidate" -l llm-timeout -d 'Seconds until one answer must be there' -r
complete -c ctx-memory -n "__fish_ctx_memory_using_subcommand consolidate" -l llm-tries -d 'Ask up to N times in all, until a usable answer comes [default: 3, or the policy\'s]' -r
complete -c ctx-memory -n "__fish_ctx_memory_using_subcommand consolidate" -l llm-backoff -d 'Wait before asking again, n times as long before the n-th time [default: 1, or the policy\'s]' -r
complete -c ctx-memory -n "__fish_ctx_memory_using_subcommand consolidate" -l record -d 'Save each question and its answer in this directory, without the key' -r -F
complete -c ctx-memory -n "__fish_ctx_memory_using_subcommand consolidate" -l replay -d 'Take the answers from this directory and ask no server' -r -F
complete -c ctx-memory -n "__fish_ctx_memory_using_subcommand consolidate" -l store -d 'Keep snapshots, memory and the audit log in DIR [default: `$XDG_STATE_HOME/ctx`, else ~/.local/state/ctx]' -r -F
complete -c ctx-memory -n "__fish_ctx_memory_using_subcommand consolidate" -l color -d 'When to colour what is shown on a terminal' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c ctx-memory -n "__fish_ctx_memory_using_subcommand consolidate" -s n -l dry-run -d 'Print what would change as a diff, and write nothing'
complete -c ctx-memory -n "__fish_ctx_memory_using_subcommand consolidate" -l json -d 'Print what was done as a JSON object'
complete -c ctx-memory -n "__fish_ctx_memory_using_subcommand consolidate" -l list-models -d 'Print the models that are known, with windows and short names, and do nothing else'
complete -c ctx-memory -n "__fish_ctx_memory_using_subcommand consolidate" -l llm-key-in-clear -d 'Send the key over http:// to another machine, in clear text'
complete -c ctx-memory -n "__fish_ctx_memory_using_subcommand consolidate" -s q -l quiet -d 'Say nothing but errors'
complete -c ctx-memory -n "__fish_ctx_memory_using_subcommand consolidate" -s v -l verbose -d 'Say more on stderr (can be repeated)'
complete -c ctx-memory -n "__fish_ctx_memory_using_subcommand consolidate" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ctx-memory -n "__fish_ctx_memory_using_subcommand inject" -l base -d 'Take the base prompt from this file; - is stdin' -r -F
complete -c ctx-memory -n "__fish_ctx_memory_using_subcommand inject" -s s -l session -d 'Take the newest summary of this session' -r
complete -c ctx-memory -n "__fish_ctx_memory_using_subcommand inject" -l without -d 'Leave this part out (can be repeated)' -r -f -a "base\t''
soul\t''
memory\t''
runtime\t''
summary\t''"
complete -c ctx-memory -n "__fish_ctx_memory_using_subcommand inject" -l max-tokens -d 'Let it have at most N tokens' -r
complete -c ctx-memory -n "__fish_ctx_memory_using_subcommand inject" -l transcript -d 'Put it into this session as a system message; - is stdin' -r -F
complete -c ctx-memory -n "__fish_ctx_memory_using_subcommand inject" -l encoding -d 'Count tokens with this encoding [default: the model\'s, else `o200k_base`]' -r -f -a "o200k_base\t''
o200k_harmony\t''
cl100k_base\t''
p50k_base\t''
r50k_base\t''
chars4\t''"
complete -c ctx-memory -n "__fish_ctx_memory_using_subcommand inject" -l model -d 'Count for this model: with its encoding, against its window' -r
complete -c ctx-memory -n "__fish_ctx_memory_using_subcommand inject" -s o -l output -d 'Write to FILE instead of stdout, at the end and only when all went well' -r -F
complete -c ctx-memory -n "__fish_ctx_memory_using_subcommand inject" -l store -d 'Keep snapshots, memory and the audit log in DIR [default: `$XDG_STATE_HOME/ctx`, else ~/.local/state/ctx]' -r -F
complete -c ctx-memory -n "__fish_ctx_memory_using_subcommand inject" -l color -d 'When to colour what is shown on a terminal' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c ctx-memory -n "__fish_ctx_memory_using_subcommand inject" -l list-models -d 'Print the models that are known, with windows and short names, and do nothing else'
complete -c ctx-memory -n "__fish_ctx_memory_using_subcommand inject" -s q -l quiet -d 'Say nothing but errors'
complete -c ctx-memory -n "__fish_ctx_memory_using_subcommand inject" -s v -l verbose -d 'Say more on stderr (can be repeated)'
complete -c ctx-memory -n "__fish_ctx_memory_using_subcommand inject" -s h -l help -d 'Print help (see more with \'--help\')'
