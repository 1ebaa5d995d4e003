# Completion of ctx-extract in fish: asks ctx-extract itself.

complete --keep-order --exclusive --command ctx-extract --arguments "(CTX_COMPLETE=fish ctx-extract -- (commandline --current-process --tokenize --cut-at-cursor) (commandline --current-token))"
