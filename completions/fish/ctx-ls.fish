# Fish completion for ctx-ls, which computes the values itself.

complete --keep-order --exclusive --command ctx-ls --arguments "(CTX_COMPLETE=fish ctx-ls -- (commandline --current-process --tokenize --cut-at-cursor) (commandline --current-token))"
