# Completion of ctx-convert in fish: asks ctx-convert itself.

complete --keep-order --exclusive --command ctx-convert --arguments "(CTX_COMPLETE=fish ctx-convert -- (commandline --current-process --tokenize --cut-at-cursor) (commandline --current-token))"
