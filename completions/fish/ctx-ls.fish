# Completion of ctx-ls in fish: asks ctx-ls itself.

complete --keep-order --exclusive --command ctx-ls --arguments "(CTX_COMPLETE=fish ctx-ls -- (commandline --current-process --tokenize --cut-at-cursor) (commandline --current-token))"
