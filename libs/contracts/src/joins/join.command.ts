import type { JoinTokenView } from './join.requests.js';

export interface JoinCommandOf {
  /** Where the host reaches the gateway. */
  readonly server: string;
  /** Certificates (PEM) that sign the server's; undefined: the authorities of the host's system. */
  readonly ca: string | undefined;
  readonly issued: Pick<JoinTokenView, 'namespace' | 'cluster' | 'token' | 'script'>;
}

const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/**
 * One line for the shell of a host. The script is verified by its checksum before anything of it runs, so it may be downloaded without a
 * trusted certificate; everything after it trusts the certificates of the command only.
 */
export const joinCommandOf = ({ server, ca, issued }: JoinCommandOf): string => {
  const { namespace, cluster, token, script } = issued;
  const base = server.replace(/\/+$/, '');
  const authority = ca === undefined ? '' : ` --ca ${Buffer.from(ca).toString('base64')}`;
  const insecure = ca === undefined ? '' : ' --insecure';
  return [
    'f=$(mktemp)',
    `curl -fsSL${insecure} -o "$f" ${quote(`${base}${script.path}`)}`,
    `echo "${script.sha256}  $f" | sha256sum -c --quiet`,
    `FAIRLEAD_JOIN_TOKEN=${token} sh "$f" --server ${quote(base)} --cluster ${namespace}/${cluster}${authority}`,
  ].join(' && ');
};
