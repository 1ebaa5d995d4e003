complete -c ctx-stats -l since -d 'Only what was done since TIME, as 2026-11-15 or "1 week ago", in UTC' -r
complete -c ctx-stats -l trigger-messages -d 'Due with more messages than N, system ones left out' -r
complete -c ctx-stats -l trigger-tokens -d 'Due with a context of more than N tokens' -r
complete -c ctx-stats -l trigger-share -d 'Due with a context of more than this share of the window [default: 0.8]' -r
complete -c ctx-stats -l trigger-tool-bytes -d 'Due with more bytes of tool results than N' -r
complete -c ctx-stats -l trigger-turns -d 'Due with more turns than N' -r
complete -c ctx-stats -l reserve -d 'Due when fewer than N tokens of the window are free' -r
complete -c ctx-stats -l window -d 'Tokens of the window [default: the model\'s, else the one that an agent\'s own file tells, else 128k]' -r
complete -c ctx-stats -l min-messages -d 'With fewer than N messages nothing but an overflow is due' -r
complete -c ctx-stats -l flush-share -d 'Above this share of a limit a flush is due, to save what is needed' -r
complete -c ctx-stats -l preset -d 'Go by this policy; ctx-compact --show-preset NAME prints it' -r
complete -c ctx-stats -l config -d 'Read a policy from FILE: TOML, or the JSON of a system it comes from' -r -F
complete -c ctx-stats -l encoding -d 'Count tokens with this encoding [default: the model\'s, else `o200k_base`]' -r -f -a "o200k_base\t''
o200k_harmony\t''
cl100k_base\t''
p50k_base\t''
r50k_base\t''
chars4\t''"
complete -c ctx-stats -l model -d 'Count for this model: with its encoding, against its window' -r
complete -c ctx-stats -s o -l output -d 'Write to FILE instead of stdout, at the end and only when all went well' -r -F
complete -c ctx-stats -l store -d 'Keep snapshots, memory and the audit log in DIR [default: `$XDG_STATE_HOME/ctx`, else ~/.local/state/ctx]' -r -F
complete -c ctx-stats -l color -d 'When to colour what is shown on a terminal' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c ctx-stats -l json -d 'Print one JSON object, or one for each FILE'
complete -c ctx-stats -l prometheus -d 'Print metrics in the text format of Prometheus'
complete -c ctx-stats -l html -d 'Print an HTML page that shows where the window of each FILE goes'
complete -c ctx-stats -l list-models -d 'Print the models that are known, with windows and short names, and do nothing else'
complete -c ctx-stats -l overflow -d 'Due because the model refused the session: its window was full'
complete -c ctx-stats -s q -l quiet -d 'Say nothing but errors'
complete -c ctx-stats -s v -l verbose -d 'Say more on stderr (can be repeated)'
complete -c ctx-stats -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ctx-stats -s V -l version -d 'Print version'
