complete -c ctx-ls -l agent -d 'Only sessions of this agent, or of this dialect (can be repeated)' -r -f -a "anthropic\t''
chat\t''
claude-code\t''
codex\t''
gemini\t''
openclaw\t''
pi\t''
responses\t''"
complete -c ctx-ls -s j -l jobs -d 'Read N files at a time [default: one per core]' -r
complete -c ctx-ls -l trigger-messages -d 'Due with more messages than N, system ones left out' -r
complete -c ctx-ls -l trigger-tokens -d 'Due with a context of more than N tokens' -r
complete -c ctx-ls -l trigger-share -d 'Due with a context of more than this share of the window [default: 0.8]' -r
complete -c ctx-ls -l trigger-tool-bytes -d 'Due with more bytes of tool results than N' -r
complete -c ctx-ls -l trigger-turns -d 'Due with more turns than N' -r
complete -c ctx-ls -l reserve -d 'Due when fewer than N tokens of the window are free' -r
complete -c ctx-ls -l min-messages -d 'With fewer than N messages nothing but an overflow is due' -r
complete -c ctx-ls -l flush-share -d 'Above this share of a limit a flush is due, to save what is needed' -r
complete -c ctx-ls -l preset -d 'Go by this policy; ctx-compact --show-preset NAME prints it' -r
complete -c ctx-ls -l config -d 'Read a policy from FILE: TOML, or the JSON of a system it comes from' -r -F
complete -c ctx-ls -l store -d 'Keep snapshots, memory and the audit log in DIR [default: `$XDG_STATE_HOME/ctx`, else ~/.local/state/ctx]' -r -F
complete -c ctx-ls -l model -d 'Take the window of this model for all sessions' -r
complete -c ctx-ls -l window -d 'Tokens of the window of all sessions [default: what the file tells, else the model\'s]' -r
complete -c ctx-ls -l color -d 'When to colour what is shown on a terminal' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c ctx-ls -l due -d 'Only sessions for which a compaction is due'
complete -c ctx-ls -l subagents -d 'Also the files of subagents'
complete -c ctx-ls -l json -d 'Print JSON: an object per session'
complete -c ctx-ls -l paths-only -d 'Print only the paths, one a line'
complete -c ctx-ls -s 0 -l null -d 'Print only the paths, each with a NUL behind it, for xargs -0'
complete -c ctx-ls -l list-models -d 'Print the models that are known, with windows and short names, and do nothing else'
complete -c ctx-ls -s q -l quiet -d 'Say nothing but errors'
complete -c ctx-ls -s v -l verbose -d 'Say more on stderr (can be repeated)'
complete -c ctx-ls -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ctx-ls -s V -l version -d 'Print version'
