// The engine's thread: the page posts the address of the glue and the module it has already compiled.
// A failure that only rejects a promise is made an error event, which the page hears.
self.onunhandledrejection = ({ reason }) => reportError(reason);
self.onmessage = ({ data: { glue, module } }) =>
  import(glue)
    .then((herdscope) => herdscope.default({ module_or_path: module }).then(() => herdscope.start_engine()))
    .catch(reportError);
