# Completion of ctx-gc in fish: asks ctx-gc itself.

complete --keep-order --exclusive --command ctx-gc --arguments "(CTX_COMPLETE=fish ctx-gc -- (commandline --current-process --tokenize --cut-at-cursor) (commandline --current-token))"
