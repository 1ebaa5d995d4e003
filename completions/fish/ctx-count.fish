complete -c ctx-count -l by -d 'Show where the tokens are, or the bytes: count, size and share of each' -r -f -a "role\t'Messages by role'
kind\t'Parts of messages by kind: text, reasoning, calls, results, media, other; overhead'
tool\t'Tool calls by tool, each with the tokens of its calls and of their results'
reach\t'Bytes of the file: what is sent, what wraps it, and what is not sent and why'"
complete -c ctx-count -s j -l jobs -d 'Count N files, or N conversations of a --batch file, at a time [default: one per core]' -r
complete -c ctx-count -l encoding -d 'Count tokens with this encoding [default: the model\'s, else `o200k_base`]' -r -f -a "o200k_base\t''
o200k_harmony\t''
cl100k_base\t''
p50k_base\t''
r50k_base\t''
chars4\t''"
complete -c ctx-count -l model -d 'Count for this model: with its encoding, against its window' -r
complete -c ctx-count -l glob -d 'Of folders take the files that match PATTERN; several times [default: *.jsonl, *.json]' -r
complete -c ctx-count -l dialect -d 'Read the records as this dialect instead of detecting it' -r -f -a "chat\t''
anthropic\t''
responses\t''
claude-code\t''
codex\t''
gemini\t''
pi\t''"
complete -c ctx-count -l invalid -d 'What to do with a line that is not one JSON object' -r -f -a "keep\t'Keep them in place and count them'
fail\t'Stop at the first one'
drop\t'Leave them out and count them'"
complete -c ctx-count -s o -l output -d 'Write to FILE instead of stdout, at the end and only when all went well' -r -F
complete -c ctx-count -l store -d 'Keep snapshots, memory and the audit log in DIR [default: `$XDG_STATE_HOME/ctx`, else ~/.local/state/ctx]' -r -F
complete -c ctx-count -l color -d 'When to colour what is shown on a terminal' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c ctx-count -l json -d 'Print JSON: an object per file, then one for the total'
complete -c ctx-count -l calibrate -d 'Say what the context comes to for the API, by the usage an agent recorded'
complete -c ctx-count -l annotate -d 'Pass the records of one file on, each with its bytes and tokens in a tag'
complete -c ctx-count -l text -d 'Count each file as plain text: only tokens are shown'
complete -c ctx-count -l list-models -d 'Print the models that are known, with windows and short names, and do nothing else'
complete -c ctx-count -s r -l recursive -d 'Take the files in folders, however deep'
complete -c ctx-count -l batch -d 'Take each line as one conversation: {"messages":[…]}'
complete -c ctx-count -s q -l quiet -d 'Say nothing but errors'
complete -c ctx-count -s v -l verbose -d 'Say more on stderr (can be repeated)'
complete -c ctx-count -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ctx-count -s V -l version -d 'Print version'
