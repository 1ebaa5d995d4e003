# Completion of ctx-summarize in fish: asks ctx-summarize itself.

complete --keep-order --exclusive --command ctx-summarize --arguments "(CTX_COMPLETE=fish ctx-summarize -- (commandline --current-process --tokenize --cut-at-cursor) (commandline --current-token))"
