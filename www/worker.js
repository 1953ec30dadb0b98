self.onunhandledrejection = ({ reason }) => reportError(reason);
self.onmessage = ({ data: { glue, module } }) =>
  import(glue)
    .then((herdscope) => herdscope.default({ module_or_path: module }).then(() => herdscope.start_engine()))
    .catch(reportError);
