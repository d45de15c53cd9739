const SERVER = /^([ \t]*server:[ \t]*)(\S+)[ \t]*$/m;

/** The API server in a kubeconfig with one cluster, or undefined. */
export const serverIn = (kubeconfig: string): string | undefined => SERVER.exec(kubeconfig)?.[2];

/** The same kubeconfig with another API server; the rest of the text is unchanged. */
export const withServer = (kubeconfig: string, server: string): string =>
  kubeconfig.replace(SERVER, (_line, before: string) => `${before}${server}`);
