complete -c ctx-summarize -l method -d 'How to sum up' -r -f -a "extractive\t'Quotes what is most likely to be needed, offline'
rule\t'Counts and quotes, offline'
llm\t'Asks a language model'"
complete -c ctx-summarize -l summary-tokens -d 'Length of the summary in tokens' -r
complete -c ctx-summarize -l budget -d 'Tokens of the whole output: system messages, summary and latest messages' -r
complete -c ctx-summarize -l keep-messages -d 'Keep the last N messages, system ones not counted' -r
complete -c ctx-summarize -l keep-turns -d 'Keep the last N turns: a user message and all up to the next one' -r
complete -c ctx-summarize -l keep-tokens -d 'Keep the last messages that hold N tokens or more' -r
complete -c ctx-summarize -l pin -d 'With --budget: keep the records that match; may be repeated' -r
complete -c ctx-summarize -l header -d 'Begin the message with this line; it marks an earlier summary, too' -r
complete -c ctx-summarize -l role -d 'Role of the message; user where the dialect allows no other' -r -f -a "user\t'A message of the user'
assistant\t'A message of the model'
system\t'A system message'"
complete -c ctx-summarize -l encoding -d 'Count tokens with this encoding' -r
complete -c ctx-summarize -l llm-url -d 'Server to ask; without one nothing is ever sent' -r
complete -c ctx-summarize -l llm-api -d 'API of the server [default: by the URL: anthropic where host or path name it, else openai]' -r -f -a "openai\t'Chat completions, as many servers speak them'
anthropic\t'Anthropic messages'"
complete -c ctx-summarize -l llm-model -d 'Model to ask for' -r
complete -c ctx-summarize -l llm-window -d 'Window of the model in tokens [default: as listed, else the server\'s, else 32000]' -r
complete -c ctx-summarize -l llm-timeout -d 'Seconds until one answer must be there' -r
complete -c ctx-summarize -l llm-tries -d 'Ask up to N times in all, until a usable answer comes [default: 3, or the policy\'s]' -r
complete -c ctx-summarize -l llm-backoff -d 'Wait before asking again, n times as long before the n-th time [default: 1, or the policy\'s]' -r
complete -c ctx-summarize -l record -d 'Save each question and its answer in this directory, without the key' -r -F
complete -c ctx-summarize -l replay -d 'Take the answers from this directory and ask no server' -r -F
complete -c ctx-summarize -l template -d 'Prompt: default, synapse (eight sections), sanbot (four), or a file' -r
complete -c ctx-summarize -l instructions -d 'What the summary shall stress' -r
complete -c ctx-summarize -l on-failure -d 'What to do when no model answers [default: extractive, or the policy\'s]' -r -f -a "extractive\t'Take the extractive summary, and say so'
rule\t'Take the rule summary, and say so'
fail\t'Fail, and write nothing'"
complete -c ctx-summarize -l dialect -d 'Read the records as this dialect instead of detecting it' -r -f -a "chat\t''
anthropic\t''
responses\t''
claude-code\t''
codex\t''
gemini\t''
pi\t''"
complete -c ctx-summarize -l invalid -d 'What to do with a line that is not one JSON object' -r -f -a "keep\t'Keep them in place and count them'
fail\t'Stop at the first one'
drop\t'Leave them out and count them'"
complete -c ctx-summarize -s o -l output -d 'Write to FILE instead of stdout, at the end and only when all went well' -r -F
complete -c ctx-summarize -s s -l session -d 'Append the summary to this session\'s in the store' -r
complete -c ctx-summarize -l store -d 'Keep snapshots, memory and the audit log in DIR [default: `$XDG_STATE_HOME/ctx`, else ~/.local/state/ctx]' -r -F
complete -c ctx-summarize -l color -d 'When to colour what is shown on a terminal' -r -f -a "auto\t'On a terminal, unless `NO_COLOR` is set'
always\t'Always'
never\t'Never'"
complete -c ctx-summarize -l llm-key-in-clear -d 'Send the key over http:// to another machine, in clear text'
complete -c ctx-summarize -l partial -d 'Take a stream that ended early for whole'
complete -c ctx-summarize -l strict -d 'Fail when the input breaks a rule of its dialect'
complete -c ctx-summarize -l batch -d 'Take each line as one conversation: {"messages":[…]}'
complete -c ctx-summarize -l json -d 'Print what was done as a JSON object'
complete -c ctx-summarize -s q -l quiet -d 'Say nothing but errors'
complete -c ctx-summarize -s v -l verbose -d 'Say more on stderr (can be repeated)'
complete -c ctx-summarize -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ctx-summarize -s V -l version -d 'Print version'
