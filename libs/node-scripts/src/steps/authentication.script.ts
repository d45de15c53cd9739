import { AUTHENTICATION_FILE } from '../kubeadm/authentication.config.js';
import { API_PORT } from '../kubeadm/kubeadm.types.js';
import { quote } from '../shell/quote.js';
import { script, writeFile, type HostScript } from '../shell/script.js';

export interface AuthenticationInput {
  /** The node's own address, at which its API server is queried for the time of its last reload. */
  readonly address: string;
  /** The required content of the file. */
  readonly content: string;
}

export interface AuthenticationResult {
  /** False: the file was already up to date. */
  readonly changed: boolean;
}

/** kube-apiserver limits each attempt to a minute, and makes one per minute. */
const READ_WITHIN_SECONDS = 150;
const LIMIT_SECONDS = 240;

/** Its start and its last successful reload: seconds since 1970, 0 for none. */
const METRICS =
  '/^process_start_time_seconds / { if ($2 > at) at = $2 } ' +
  '/^apiserver_authentication_config_controller_automatic_reload_last_timestamp_seconds[{].*status="success"/ { if ($NF > at) at = $NF } ' +
  'END { exit !(at >= since) }';

const host = (address: string): string => (address.includes(':') ? `[${address}]` : address);

/**
 * Replaces the API server's authentication file, and waits until the running API server has loaded it: it continues
 * with the old one while the new one is invalid, or while its issuer does not answer. kubelets and clients are not
 * affected.
 */
export const authenticationScript = ({ address, content }: AuthenticationInput): HostScript =>
  script(
    { step: 'authentication', limitSeconds: LIMIT_SECONDS, lockSeconds: 30 },
    `
file="$root${AUTHENTICATION_FILE}"
changed=false
[ -d "$(dirname "$file")" ] || fail 'the API server of this host was started without a file for the authentication of users'
if [ "$(cat "$file" 2>/dev/null; echo x)" != ${quote(`${content}x`)} ]; then
${writeFile(AUTHENTICATION_FILE, '644', content)}
  changed=true
fi
since=$(stat -c %.Y "$file" | tr ',' .)
has_read() {
  kubectl --kubeconfig "$root/etc/kubernetes/admin.conf" --server ${quote(`https://${host(address)}:${API_PORT}`)} \\
    --request-timeout=20s get --raw /metrics 2>>"$log" | awk -v since="$since" ${quote(METRICS)}
}
waited=0
until has_read; do
  [ "$waited" -lt ${READ_WITHIN_SECONDS} ] ||
    fail 'the API server has not taken the file for the authentication of users within ${READ_WITHIN_SECONDS} seconds: it must reach the issuer and trust its certificate. It goes on with the former one and tries again each minute; its log has the cause'
  waited=$((waited + 2))
  sleep 2
done
result "{\\"changed\\":$changed}"
`,
  );
