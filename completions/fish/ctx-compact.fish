complete -c ctx-compact -s j -l jobs -d 'Compact N conversations of a --batch at a time [default: one per core]' -r
complete -c ctx-compact -l preset -d 'Go by this policy; ctx-compact --show-preset NAME prints it' -r
complete -c ctx-compact -l config -d 'Read a policy from FILE: TOML, or the JSON of a system it comes from' -r -F
complete -c ctx-compact -l show-preset -d 'Print a preset with its comments, and do nothing else' -r
complete -c ctx-compact -l trigger-messages -d 'Due with more messages than N, system ones left out' -r
complete -c ctx-compact -l trigger-tokens -d 'Due with a context of more than N tokens' -r
complete -c ctx-compact -l trigger-share -d 'Due with a context of more than this share of the window [default: 0.8]' -r
complete -c ctx-compact -l trigger-tool-bytes -d 'Due with more bytes of tool results than N' -r
complete -c ctx-compact -l trigger-turns -d 'Due with more turns than N' -r
complete -c ctx-compact -l reserve -d 'Due when fewer than N tokens of the window are free' -r
complete -c ctx-compact -l window -d 'Tokens of the window [default: the model\'s, else the one that an agent\'s own file tells, else 128k]' -r
complete -c ctx-compact -l min-messages -d 'With fewer than N messages nothing but an overflow is due' -r
complete -c ctx-compact -l flush-share -d 'Above this share of a limit a flush is due, to save what is needed' -r
complete -c ctx-compact -l encoding -d 'Count tokens with this encoding [default: the model\'s, else `o200k_base`]' -r -f -a "o200k_base\t''
o200k_harmony\t''
cl100k_base\t''
p50k_base\t''
r50k_base\t''
chars4\t''"
complete -c ctx-compact -l model -d 'Count for this model: with its encoding, against its window' -r
complete -c ctx-compact -l score -d 'Score what survives, or do not [default: sessions of up to 64 MiB]' -r -f -a "true\t''
false\t''"
complete -c ctx-compact -l mode -d 'What may be done [default: the policy\'s]' -r -f -a "summary_only\t'Sums up the old part, prunes nothing'
summary_plus_prune\t'Sums up the old part and prunes as `prune.when` says'
prune_only\t'Prunes; nothing is summed up'"
complete -c ctx-compact -l keep-messages -d 'Keep the last N messages, system ones not counted' -r
complete -c ctx-compact -l keep-turns -d 'Keep the last N turns: a user message and all up to the next one' -r
complete -c ctx-compact -l keep-tokens -d 'Keep the last messages that hold N tokens or more' -r
complete -c ctx-compact -l target-tokens -d 'Do not be content with more than N tokens in all [default: the policy\'s]' -r
complete -c ctx-compact -l max-attempts -d 'Leave a session alone after N runs that gained nothing [default: the policy\'s]' -r
complete -c ctx-compact -l cache-ttl -d 'Prune only when the last call is older: 5m or 1h [default: the policy\'s]' -r
complete -c ctx-compact -l method -d 'How to sum up what is old [default: the policy\'s]' -r -f -a "extractive\t'Quotes what is most likely to be needed, offline'
rule\t'Counts and quotes, offline'
llm\t'Asks a language model'"
complete -c ctx-compact -l summary-tokens -d 'Length of the summary in tokens [default: the policy\'s, else 2000]' -r
complete -c ctx-compact -l header -d 'Begin the message with this line; it marks an earlier summary, too' -r
complete -c ctx-compact -l role -d 'Role of the message; user where the dialect allows no other' -r -f -a "user\t'A message of the user'
assistant\t'A message of the model'
system\t'A system message'"
complete -c ctx-compact -l safeguard -d 'Check what a model writes, ask again, keep less [default: the policy\'s]' -r -f -a "true\t''
false\t''"
complete -c ctx-compact -l extract -d 'Merge decisions, facts, preferences and tool runs of the old part into the memory, or do not [default: the policy\'s]' -r -f -a "true\t''
false\t''"
complete -c ctx-compact -l pin -d 'Keep these records: role:NAME, line:N, line:N-M or re:REGEX' -r
complete -c ctx-compact -l budget -d 'Compact what holds more than N tokens, to at most N in all' -r
complete -c ctx-compact -l last-call -d 'When the last call was, if the records do not tell' -r
complete -c ctx-compact -l llm-url -d 'Server to ask; without one nothing is ever sent' -r
complete -c ctx-compact -l llm-api -d 'API of the server [default: by the URL: anthropic where host or path name it, else openai]' -r -f -a "openai\t'Chat completions, as many servers speak them'
anthropic\t'Anthropic messages'"
complete -c ctx-compact -l llm-model -d 'Model to ask for' -r
complete -c ctx-compact -l llm-window -d 'Window of the model in tokens [default: as listed, else the server\'s, else 32000]' -r
complete -c ctx-compact -l llm-timeout -d 'Seconds until one answer must be there' -r
complete -c ctx-compact -l llm-tries -d 'Ask up to N times in all, until a usable answer comes [default: 3, or the policy\'s]' -r
complete -c ctx-compact -l llm-backoff -d 'Wait before asking again, n times as long before the n-th time [default: 1, or the policy\'s]' -r
complete -c ctx-compact -l record -d 'Save each question and its answer in this directory, without the key' -r -F
complete -c ctx-compact -l replay -d 'Take the answers from this directory and ask no server' -r -F
complete -c ctx-compact -l template -d 'Prompt: default, synapse (eight sections), sanbot (four), or a file' -r
complete -c ctx-compact -l instructions -d 'What the summary shall stress' -r
complete -c ctx-compact -l on-failure -d 'What to do when no model answers [default: extractive, or the policy\'s]' -r -f -a "extractive\t'Take the extractive summary, and say so'
rule\t'Take the rule summary, and say so'
fail\t'Fail, and write nothing'"
complete -c ctx-compact -l dialect -d 'Read the records as this dialect instead of detecting it' -r -f -a "chat\t''
anthropic\t''
responses\t''
claude-code\t''
codex\t''
gemini\t''
pi\t''"
complete -c ctx-compact -l invalid -d 'What to do with a line that is not one JSON object' -r -f -a "keep\t'Keep them in place and count them'
fail\t'Stop at the first one'
drop\t'Leave them out and count them'"
complete -c ctx-compact -s o -l output -d 'Write to FILE instead of stdout, at the end and only when all went well' -r -F
complete -c ctx-compact -s s -l session -d 'Name the session [default: the id in an agent\'s own file, else made of the file\'s name and path]' -r
complete -c ctx-compact -l min-idle -d 'Leave a session alone that changed less than DURATION ago [default: 10m for an agent\'s own file, else 0s]' -r
complete -c ctx-compact -l store -d 'Keep snapshots, memory and the audit log in DIR [default: `$XDG_STATE_HOME/ctx`, else ~/.local/state/ctx]' -r -F
complete -c ctx-compact -l color -d 'When to colour what is shown on a terminal' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c ctx-compact -l json -d 'Print a JSON object a session: how it ended, its figures'
complete -c ctx-compact -l tag-failed -d 'Tag what cannot be compacted in a --batch, {"_ctx":{"failed":"WHY"},…, and exit with 0'
complete -c ctx-compact -l overflow -d 'Due because the model refused the session: its window was full'
complete -c ctx-compact -l if-due -d 'Compact only what is due by a trigger; all else is left alone, exit 0'
complete -c ctx-compact -l force -d 'Compact whatever the triggers and earlier attempts say'
complete -c ctx-compact -s n -l dry-run -d 'Show the zones, what would leave and how small it would get; do nothing'
complete -c ctx-compact -l strict-target -d 'Write nothing that is above the target: exit 1'
complete -c ctx-compact -l no-calibrate -d 'Go by our own count, not by the usage that an agent has recorded'
complete -c ctx-compact -l llm-key-in-clear -d 'Send the key over http:// to another machine, in clear text'
complete -c ctx-compact -l batch -d 'Take each line as one conversation: {"messages":[…]}'
complete -c ctx-compact -s q -l quiet -d 'Say nothing but errors'
complete -c ctx-compact -s v -l verbose -d 'Say more on stderr (can be repeated)'
complete -c ctx-compact -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ctx-compact -s V -l version -d 'Print version'
