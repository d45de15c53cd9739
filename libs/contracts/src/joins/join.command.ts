import type { JoinTokenView } from './join.requests.js';

export interface JoinCommandOf {
  /** The URL at which the host reaches the gateway. */
  readonly server: string;
  /** CA certificates (PEM) that signed the server's certificate; undefined: the system's CAs. */
  readonly ca: string | undefined;
  readonly issued: Pick<JoinTokenView, 'namespace' | 'cluster' | 'token'>;
  /** Without a checksum, only the server's certificate vouches for the script. */
  readonly script: Pick<JoinTokenView['script'], 'path'> & { readonly sha256?: string };
}

const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/**
 * One shell line for a host. If the script's checksum is verified before any of it runs, it may be downloaded without a
 * trusted certificate; everything after that trusts only the certificates in the command.
 */
export const joinCommandOf = ({ server, ca, issued, script: { path, sha256 } }: JoinCommandOf): string => {
  const { namespace, cluster, token } = issued;
  const base = server.replace(/(?<!\/)\/+$/, '');
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
