complete -c ctx-convert -l to -d 'Write this dialect' -r -f -a "chat\t''
anthropic\t''
responses\t''
claude-code\t''
codex\t''
gemini\t''
pi\t''"
complete -c ctx-convert -s s -l session -d 'Give an agent\'s session this id [default: made of what it says]' -r
complete -c ctx-convert -l cwd -d 'Say that the agent works in DIR [default: as the source says, or /]' -r
complete -c ctx-convert -l now -d 'Give what has no time this one, such as 2026-01-01T00:00:00Z [default: now]' -r
complete -c ctx-convert -s o -l output -d 'Write to FILE instead of stdout, at the end and only when all went well' -r -F
complete -c ctx-convert -l dialect -d 'Read the records as this dialect instead of detecting it' -r -f -a "chat\t''
anthropic\t''
responses\t''
claude-code\t''
codex\t''
gemini\t''
pi\t''"
complete -c ctx-convert -l invalid -d 'What to do with a line that is not one JSON object' -r -f -a "keep\t'Keep them in place and count them'
fail\t'Stop at the first one'
drop\t'Leave them out and count them'"
complete -c ctx-convert -l store -d 'Keep snapshots, memory and the audit log in DIR [default: `$XDG_STATE_HOME/ctx`, else ~/.local/state/ctx]' -r -F
complete -c ctx-convert -l color -d 'When to colour what is shown on a terminal' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c ctx-convert -l strict -d 'Write nothing when something cannot be carried'
complete -c ctx-convert -s n -l dry-run -d 'Show what could not be carried, and write nothing'
complete -c ctx-convert -l json -d 'Print what was done as a JSON object'
complete -c ctx-convert -l batch -d 'Take each line as one conversation: {"messages":[…]}'
complete -c ctx-convert -s q -l quiet -d 'Say nothing but errors'
complete -c ctx-convert -s v -l verbose -d 'Say more on stderr (can be repeated)'
complete -c ctx-convert -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ctx-convert -s V -l version -d 'Print version'
