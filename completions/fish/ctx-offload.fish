complete -c ctx-offload -s s -l session -d 'Name the session [default: the id in an agent\'s own file, else made of the file\'s name and path]' -r
complete -c ctx-offload -l min-tokens -d 'Take out results of N tokens and more' -r
complete -c ctx-offload -l enough -d 'Stop once the session has N tokens less' -r
complete -c ctx-offload -l protect-last -d 'Leave the last N assistant messages alone, and all that follows' -r
complete -c ctx-offload -l reference -d 'Put TEXT in the place of a result; {path} in it is the file' -r
complete -c ctx-offload -l encoding -d 'Count tokens with this encoding [default: the model\'s, else `o200k_base`]' -r -f -a "o200k_base\t''
o200k_harmony\t''
cl100k_base\t''
p50k_base\t''
r50k_base\t''
chars4\t''"
complete -c ctx-offload -l model -d 'Count for this model: with its encoding, against its window' -r
complete -c ctx-offload -l show -d 'Print the original of a handle, by its hash, whole, and nothing else' -r
complete -c ctx-offload -l min-idle -d 'Leave a session alone that changed less than DURATION ago [default: 10m for an agent\'s own file, else 0s]' -r
complete -c ctx-offload -s o -l output -d 'Write to FILE instead of stdout, at the end and only when all went well' -r -F
complete -c ctx-offload -l dialect -d 'Read the records as this dialect instead of detecting it' -r -f -a "chat\t''
anthropic\t''
responses\t''
claude-code\t''
codex\t''
gemini\t''
pi\t''"
complete -c ctx-offload -l invalid -d 'What to do with a line that is not one JSON object' -r -f -a "keep\t'Keep them in place and count them'
fail\t'Stop at the first one'
drop\t'Leave them out and count them'"
complete -c ctx-offload -l store -d 'Keep snapshots, memory and the audit log in DIR [default: `$XDG_STATE_HOME/ctx`, else ~/.local/state/ctx]' -r -F
complete -c ctx-offload -l color -d 'When to colour what is shown on a terminal' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c ctx-offload -l list-models -d 'Print the models that are known, with windows and short names, and do nothing else'
complete -c ctx-offload -l restore -d 'Put the results back; a reference whose file cannot be read stays, exit 3'
complete -c ctx-offload -s n -l dry-run -d 'Show what would be done, and do nothing'
complete -c ctx-offload -s i -l in-place -d 'Write over FILE itself: as -o with the same name'
complete -c ctx-offload -l json -d 'Print what was done as a JSON object'
complete -c ctx-offload -l batch -d 'Take each line as one conversation: {"messages":[…]}'
complete -c ctx-offload -s q -l quiet -d 'Say nothing but errors'
complete -c ctx-offload -s v -l verbose -d 'Say more on stderr (can be repeated)'
complete -c ctx-offload -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ctx-offload -s V -l version -d 'Print version'
