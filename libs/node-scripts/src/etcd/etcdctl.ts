import { EXTERNAL_ETCD } from '@fairlead/contracts';

/** A function of the shell that asks the member of this host, by the certificate that is for looking at its health. */
export const ETCDCTL = `
etcd() {
  pki="$root${EXTERNAL_ETCD.pki}"
  ETCDCTL_API=3 "$root${EXTERNAL_ETCD.programs}/etcdctl" --endpoints=https://127.0.0.1:2379 --command-timeout=10s \\
    --cacert="$pki/ca.crt" --cert="$pki/healthcheck-client.crt" --key="$pki/healthcheck-client.key" "$@"
}`;
