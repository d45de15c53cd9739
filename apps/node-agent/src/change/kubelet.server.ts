const SERVER = /^(\s*server:\s*)(\S+)\s*$/m;

/** The API server that a kubeconfig of one cluster names; undefined: it names none. */
export const serverIn = (kubeconfig: string): string | undefined => SERVER.exec(kubeconfig)?.[2];

/** The same kubeconfig with another API server; everything else stays as it was written. */
export const withServer = (kubeconfig: string, server: string): string =>
  kubeconfig.replace(SERVER, (_line, before: string) => `${before}${server}`);
