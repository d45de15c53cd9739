/** OpenSSL's format of a time. */
const momentOf = (at: Date): string => `${at.toISOString().slice(0, 19).replace(/[-:T]/g, '')}Z`;

const REISSUE = String.raw`
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# The same certificate, with the same key and by the same authority, but with another end: certificate, key, authority, its key, result.
again() {
  openssl x509 -in "$1" -x509toreq -key "$2" -copy_extensions copyall -out "$work/request" 2>/dev/null
  openssl x509 -req -in "$work/request" -CA "$3" -CAkey "$4" -copy_extensions copyall -not_before 20250101000000Z -not_after "$end" -out "$work/result" 2>/dev/null
  cat "$work/result" >"$5"
}
in_file() {
  sed -n '/BEGIN CERTIFICATE/,/END CERTIFICATE/p' "$1" >"$work/certificate"
  sed -n '/BEGIN .*KEY/,/END .*KEY/p' "$1" >"$work/key"
  again "$work/certificate" "$work/key" "$pki/ca.crt" "$pki/ca.key" "$work/new"
  cat "$work/new" "$work/key" >"$work/both"
  cat "$work/both" >"$1"
}
pki=/etc/kubernetes/pki`;

/** Each certificate of a control plane, including those in kubeconfigs; CAs are unchanged. */
const OF_CONTROL_PLANE = String.raw`
for name in apiserver apiserver-kubelet-client; do again "$pki/$name.crt" "$pki/$name.key" "$pki/ca.crt" "$pki/ca.key" "$pki/$name.crt"; done
again "$pki/front-proxy-client.crt" "$pki/front-proxy-client.key" "$pki/front-proxy-ca.crt" "$pki/front-proxy-ca.key" "$pki/front-proxy-client.crt"
for name in apiserver-etcd-client etcd/server etcd/peer etcd/healthcheck-client; do
  again "$pki/$name.crt" "$pki/$name.key" "$pki/etcd/ca.crt" "$pki/etcd/ca.key" "$pki/$name.crt"
done
for name in admin controller-manager scheduler; do
  file=/etc/kubernetes/$name.conf
  for part in certificate key; do sed -n "s/ *client-$part-data: //p" "$file" | base64 -d >"$work/conf.$part"; done
  again "$work/conf.certificate" "$work/conf.key" "$pki/ca.crt" "$pki/ca.key" "$work/conf.new"
  sed -i "s|client-certificate-data: .*|client-certificate-data: $(base64 -w 0 "$work/conf.new")|" "$file"
done`;

/** The kubelet of a control plane must not be running: it would renew what it reads. */
const OF_KUBELET = String.raw`
in_file "$(readlink -f /var/lib/kubelet/pki/kubelet-client-current.pem)"
serving=/var/lib/kubelet/pki/kubelet
if [ -e "$serving.crt" ]; then
  openssl x509 -in "$serving.crt" -key "$serving.key" -not_before 20250101000000Z -not_after "$end" -out "$work/serving" 2>/dev/null
  cat "$work/serving" >"$serving.crt"
fi`;

/** A shell script for a control plane, after which its certificates expire at that time. */
export const certificatesEnd = (at: Date, parts: { readonly kubelet: boolean }): string =>
  `${REISSUE}\nend=${momentOf(at)}\n${OF_CONTROL_PLANE}\n${parts.kubelet ? OF_KUBELET : ''}`;

/**
 * A shell script for a control plane that prints this certificate with its key, in the kubelet's format, with another
 * expiry.
 */
export const kubeletCertificateEnds = (at: Date, text: string): string =>
  `${REISSUE}\nend=${momentOf(at)}\necho ${Buffer.from(text).toString('base64')} | base64 -d >"$work/pem"\nin_file "$work/pem"\ncat "$work/pem"`;
