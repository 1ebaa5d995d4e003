complete -c ctx-split -l keep-messages -d 'Keep the last N messages, system ones not counted' -r
complete -c ctx-split -l keep-turns -d 'Keep the last N turns: a user message and all up to the next one' -r
complete -c ctx-split -l keep-tokens -d 'Keep the last messages that hold N tokens or more' -r
complete -c ctx-split -l window -d 'Size of the context window that --keep-share is a share of' -r
complete -c ctx-split -l keep-share -d 'Keep the last messages that fill this share of the window, as 0.3' -r
complete -c ctx-split -l pin -d 'Keep these records: role:NAME, line:N, line:N-M or re:REGEX' -r
complete -c ctx-split -l encoding -d 'Count tokens with this encoding [default: the model\'s, else `o200k_base`]' -r -f -a "o200k_base\t''
o200k_harmony\t''
cl100k_base\t''
p50k_base\t''
r50k_base\t''
chars4\t''"
complete -c ctx-split -l model -d 'Count for this model: with its encoding, against its window' -r
complete -c ctx-split -l only -d 'Write only the records of one zone' -r -f -a "system\t'System and developer messages'
old\t'What is to be summarized'
keep\t'What stays'"
complete -c ctx-split -s o -l output -d 'Write to FILE instead of stdout, at the end and only when all went well' -r -F
complete -c ctx-split -l dialect -d 'Read the records as this dialect instead of detecting it' -r -f -a "chat\t''
anthropic\t''
responses\t''
claude-code\t''
codex\t''
gemini\t''
pi\t''"
complete -c ctx-split -l invalid -d 'What to do with a line that is not one JSON object' -r -f -a "keep\t'Keep them in place and count them'
fail\t'Stop at the first one'
drop\t'Leave them out and count them'"
complete -c ctx-split -l store -d 'Keep snapshots, memory and the audit log in DIR [default: `$XDG_STATE_HOME/ctx`, else ~/.local/state/ctx]' -r -F
complete -c ctx-split -l color -d 'When to colour what is shown on a terminal' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c ctx-split -l list-models -d 'Print the models that are known, with windows and short names, and do nothing else'
complete -c ctx-split -l strip -d 'Decide nothing: remove the tags; with --only, by the zones they name'
complete -c ctx-split -l partial -d 'With --strip --only: take a stream that ended early for whole'
complete -c ctx-split -l json -d 'Print what was done as a JSON object'
complete -c ctx-split -l batch -d 'Take each line as one conversation: {"messages":[…]}'
complete -c ctx-split -s q -l quiet -d 'Say nothing but errors'
complete -c ctx-split -s v -l verbose -d 'Say more on stderr (can be repeated)'
complete -c ctx-split -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ctx-split -s V -l version -d 'Print version'
