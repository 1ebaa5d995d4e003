complete -c ctx-check -l allow -d 'Let problems against RULE pass; may be repeated, or a list with commas' -r -f -a "bad-line\t'a line that is not one JSON object'
bare-items\t'items as Codex wrote them before September 2025, which it does not load'
item-not-read\t'an item of a shape that Codex does not load'
kept-entry-missing\t'the first entry that a compaction keeps is not above it'
kept-lines-missing\t'lines that a compaction keeps are not in the file'
missing-parent\t'the parent of a line is not in the file'
no-header\t'the header is missing without which the agent loads nothing'
no-message\t'no message of a known format, or no message at all'
no-ordinal\t'the last line of a paginated file of Codex has no ordinal'
no-timestamp\t'a line without a time, which Codex passes over'
orphan-result\t'a result that answers no call where it stands'
parent-loop\t'a line that hangs on itself by way of others'
repeated-call-id\t'two calls of one reply with one id'
rewind-to-nowhere\t'the Gemini CLI is to go back to a message that is not there'
torn-tail\t'a last line that is not complete, with --strict'
unanswered-call\t'a call without its result'
unknown-item\t'a record whose type is none of the format'
unknown-role\t'a message whose role is none of the format'
unread-part\t'a part of a message that is of no kind that is read'
user-first\t'the first message is not the user\'s'"
complete -c ctx-check -l format -d 'How to print what was found' -r -f -a "text\t'Lines for people'
json\t'An object per file'
github\t'Annotations of GitHub Actions'
junit\t'`JUnit` XML, a test case per file'"
complete -c ctx-check -s j -l jobs -d 'Check N files, or N conversations of a --batch file, at a time [default: one per core]' -r
complete -c ctx-check -l max-tokens -d 'Not within limits with more tokens than N' -r
complete -c ctx-check -l max-messages -d 'Not within limits with more messages than N, system ones left out' -r
complete -c ctx-check -l max-tool-bytes -d 'Not within limits with more bytes of tool results than N' -r
complete -c ctx-check -l max-bad-lines -d 'No problem are up to N lines that are not one JSON object' -r
complete -c ctx-check -l trigger-messages -d 'Due with more messages than N, system ones left out' -r
complete -c ctx-check -l trigger-tokens -d 'Due with a context of more than N tokens' -r
complete -c ctx-check -l trigger-share -d 'Due with a context of more than this share of the window [default: 0.8]' -r
complete -c ctx-check -l trigger-tool-bytes -d 'Due with more bytes of tool results than N' -r
complete -c ctx-check -l trigger-turns -d 'Due with more turns than N' -r
complete -c ctx-check -l reserve -d 'Due when fewer than N tokens of the window are free' -r
complete -c ctx-check -l window -d 'Tokens of the window [default: the model\'s, else the one that an agent\'s own file tells, else 128k]' -r
complete -c ctx-check -l min-messages -d 'With fewer than N messages nothing but an overflow is due' -r
complete -c ctx-check -l flush-share -d 'Above this share of a limit a flush is due, to save what is needed' -r
complete -c ctx-check -l preset -d 'Go by this policy; ctx-compact --show-preset NAME prints it' -r
complete -c ctx-check -l config -d 'Read a policy from FILE: TOML, or the JSON of a system it comes from' -r -F
complete -c ctx-check -l encoding -d 'Count tokens with this encoding [default: the model\'s, else `o200k_base`]' -r -f -a "o200k_base\t''
o200k_harmony\t''
cl100k_base\t''
p50k_base\t''
r50k_base\t''
chars4\t''"
complete -c ctx-check -l model -d 'Count for this model: with its encoding, against its window' -r
complete -c ctx-check -l glob -d 'Of folders take the files that match PATTERN; several times [default: *.jsonl, *.json]' -r
complete -c ctx-check -l dialect -d 'Read the records as this dialect instead of detecting it' -r -f -a "chat\t''
anthropic\t''
responses\t''
claude-code\t''
codex\t''
gemini\t''
pi\t''"
complete -c ctx-check -l invalid -d 'What to do with a line that is not one JSON object' -r -f -a "keep\t'Keep them in place and count them'
fail\t'Stop at the first one'
drop\t'Leave them out and count them'"
complete -c ctx-check -s o -l output -d 'Write to FILE instead of stdout, at the end and only when all went well' -r -F
complete -c ctx-check -l store -d 'Keep snapshots, memory and the audit log in DIR [default: `$XDG_STATE_HOME/ctx`, else ~/.local/state/ctx]' -r -F
complete -c ctx-check -l color -d 'When to colour what is shown on a terminal' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c ctx-check -l all -d 'Show every problem, not only the first of each file'
complete -c ctx-check -l strict -d 'Calls that wait at the end, and a torn last line, are problems, too'
complete -c ctx-check -l list-rules -d 'List the rules by which something is a problem'
complete -c ctx-check -l due -d 'Ask whether a compaction is due'
complete -c ctx-check -l repair -d 'Write a repaired copy of one session, to stdout or with -o'
complete -c ctx-check -l json -d 'Print JSON: the same as --format json'
complete -c ctx-check -l no-calibrate -d 'Go by our own count, not by the usage that an agent has recorded'
complete -c ctx-check -l overflow -d 'Due because the model refused the session: its window was full'
complete -c ctx-check -s r -l recursive -d 'Take the files in folders, however deep'
complete -c ctx-check -l batch -d 'Take each line as one conversation: {"messages":[…]}'
complete -c ctx-check -s q -l quiet -d 'Say nothing but errors'
complete -c ctx-check -s v -l verbose -d 'Say more on stderr (can be repeated)'
complete -c ctx-check -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ctx-check -s V -l version -d 'Print version'
