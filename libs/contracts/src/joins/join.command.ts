import type { JoinTokenView } from './join.requests.js';

export interface JoinCommandOf {
  /** Where the host reaches the gateway. */
  readonly server: string;
  /** Certificates (PEM) that sign the server's; undefined: the authorities of the host's system. */
  readonly ca: string | undefined;
  readonly issued: Pick<JoinTokenView, 'namespace' | 'cluster' | 'token'>;
  /** Without a checksum, the certificate of the server is what vouches for the script. */
  readonly script: Pick<JoinTokenView['script'], 'path'> & { readonly sha256?: string };
}

const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/**
 * One line for the shell of a host. Where the script is verified by its checksum before anything of it runs, it may be downloaded without a
 * trusted certificate; everything after it trusts the certificates of the command only.
 */
export const joinCommandOf = ({ server, ca, issued, script: { path, sha256 } }: JoinCommandOf): string => {
  const { namespace, cluster, token } = issued;
  const base = server.replace(/\/+$/, '');
  const encoded = ca === undefined ? '' : Buffer.from(ca).toString('base64');
  const authority = ca === undefined ? '' : ` --ca ${encoded}`;
  const insecure = ca === undefined ? '' : ' --insecure';
  const download = (trust: string): string => `curl -fsSL${trust} -o "$f" ${quote(`${base}${path}`)}`;
  return [
    'f=$(mktemp)',
    ...(sha256 !== undefined
      ? [download(insecure), `echo "${sha256}  $f" | sha256sum -c --quiet`]
      : ca === undefined
        ? [download('')]
        : ['c=$(mktemp)', `echo ${encoded} | base64 -d > "$c"`, download(' --cacert "$c"')]),
    `FAIRLEAD_JOIN_TOKEN=${token} sh "$f" --server ${quote(base)} --cluster ${namespace}/${cluster}${authority}`,
  ].join(' && ');
};
