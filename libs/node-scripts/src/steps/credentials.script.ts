import { uploadCertsConfig } from '../kubeadm/kubeadm.config.js';
import type { ClusterSettings } from '../kubeadm/kubeadm.types.js';
import { onlyDuringStep, script, writeFile, type HostScript } from '../shell/script.js';

export interface CredentialsInput {
  readonly cluster: ClusterSettings;
  /** The address of the control plane on which this runs. */
  readonly address: string;
  readonly tokenTtlSeconds: number;
  /**
   * A control plane needs the certificates too: they are uploaded again under a new key (kubeadm deletes them after 2
   * h).
   */
  readonly certificates: boolean;
}

export interface CredentialsResult {
  readonly token: string;
  /** null: no certificates were requested. */
  readonly certificateKey: string | null;
}

const UPLOAD_CONFIG = '/etc/fairlead/upload-certs.yaml';
/** kubeadm's output: the token and the key. Steps of a host never overlap. */
const SAID = '/run/fairlead/credentials.said';

/** New credentials for one join, or for all joins within a few minutes. Every run creates new ones. */
export const credentialsScript = ({ cluster, address, tokenTtlSeconds, certificates }: CredentialsInput): HostScript =>
  script(
    { step: 'credentials', limitSeconds: 120, lockSeconds: 300 },
    `
export KUBECONFIG="$root/etc/kubernetes/admin.conf"
${onlyDuringStep(SAID, UPLOAD_CONFIG)}
said="$root${SAID}"
: >"$said"

kubeadm token create --ttl ${tokenTtlSeconds}s --description 'Fairlead join' >"$said" 2>>"$log" || {
  tail -n 20 "$log" >&2
  fail 'kubeadm token create failed'
}
token=$(grep -Eo '^[a-z0-9]{6}\\.[a-z0-9]{16}$' "$said" | tail -n 1 || true)
[ -n "$token" ] || fail 'kubeadm token create printed no token'
${
  certificates
    ? `
${writeFile(UPLOAD_CONFIG, '600', uploadCertsConfig(cluster, address))}
kubeadm init phase upload-certs --upload-certs --config "$root${UPLOAD_CONFIG}" >"$said" 2>>"$log" || {
  tail -n 20 "$log" >&2
  fail 'kubeadm init phase upload-certs failed'
}
key=$(grep -Eo '^[0-9a-f]{64}$' "$said" | tail -n 1 || true)
[ -n "$key" ] || fail 'kubeadm init phase upload-certs printed no certificate key'
key="\\"$key\\""`
    : 'key=null'
}
result "{\\"token\\":\\"$token\\",\\"certificateKey\\":$key}"
`,
  );
