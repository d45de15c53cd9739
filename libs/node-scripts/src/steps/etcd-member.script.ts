import { EXTERNAL_ETCD } from '@fairlead/contracts';
import { ETCD_CLIENT, type EtcdPeer } from '../etcd/etcd.paths.js';
import { etcdUnit } from '../etcd/etcd.unit.js';
import { hostPath, quote } from '../shell/quote.js';
import { script, writeFile, type HostScript } from '../shell/script.js';

/** A certificate and its key, in PEM. */
export interface EtcdPair {
  readonly cert: string;
  readonly key: string;
}

/** The certificates of a member's host; the CA's own key is not among them. */
export interface EtcdCertificates {
  readonly ca: string;
  readonly server: EtcdPair;
  readonly peer: EtcdPair;
  readonly healthcheckClient: EtcdPair;
  readonly apiserverClient: EtcdPair;
}

export interface EtcdMemberInput {
  readonly uid: string;
  /** The image with the programs, and its etcd version: `registry.k8s.io/etcd:3.6.5-0`, `3.6.5`. */
  readonly image: string;
  readonly version: string;
  /** False: the host's software is installed from files, and its agent imports the image with them. */
  readonly pull: boolean;
  readonly self: EtcdPeer;
  readonly members: readonly EtcdPeer[];
  /** False: a new etcd with these members; true: an existing one that knows this member as a learner. */
  readonly joins: boolean;
  readonly certificates: EtcdCertificates;
}

export interface EtcdMemberResult {
  /** False: everything existed already, from an earlier run of this step. */
  readonly changed: boolean;
}

const { unit, programs, pki, data } = EXTERNAL_ETCD;
const IMAGE_AT = '/run/fairlead/etcd-image';
/** Timeout for the image. */
const IMAGE_SECONDS = 240;

const foreignData = (uid: string): string => `
started="$root/var/lib/fairlead/"${quote(`etcd.${uid}.started`)}
if [ ! -e "$started" ]; then
  if [ -n "$(find "$root${data}" -mindepth 1 -maxdepth 1 ! -name lost+found -print -quit 2>/dev/null)" ]; then
    fail 'there are data of another etcd in ${data}: refusing to begin a new one there'
  fi
  : >"$started"
fi`;

const LISTED = 'ctr --namespace k8s.io images list --quiet 2>>"$log" | grep -qxF "$image"';

/** Written by the agent where the profile of the host has a proxy. */
const PROXY = '/etc/systemd/system/containerd.service.d/fairlead-proxy.conf';

/** ctr pulls from the registry itself, without the environment of containerd. */
const PULL = `  proxy=$(sed -n 's/^Environment="\\(.*\\)"$/\\1/p' ${hostPath(PROXY)} 2>/dev/null || true)
  # shellcheck disable=SC2086 # one word per variable
  ${LISTED} || run timeout ${IMAGE_SECONDS} env $proxy ctr --namespace k8s.io images pull "$image"`;

const AWAIT = `  waited=0
  until ${LISTED}; do
    [ "$waited" -lt ${IMAGE_SECONDS} ] || fail "the agent has not brought the image $image"
    waited=$((waited + 1))
    sleep 1
  done`;

const takePrograms = (image: string, pull: boolean): string => `
image=${quote(image)}
programs=${hostPath(programs)}
if [ "$(cat "$programs/image" 2>/dev/null || true)" != "$image" ]; then
${pull ? PULL : AWAIT}
  at=${hostPath(IMAGE_AT)}
  # An earlier run may have ended while it was mounted.
  ctr --namespace k8s.io images unmount --rm "$at" >>"$log" 2>&1 || true
  mkdir -p "$at"
  run ctr --namespace k8s.io images mount "$image" "$at"
  rm -rf "$programs.new"
  mkdir -p "$programs.new"
  for program in etcd etcdctl etcdutl; do
    cp "$at/usr/local/bin/$program" "$programs.new/$program" || fail "the image $image has no $program"
    chmod 755 "$programs.new/$program"
  done
  run ctr --namespace k8s.io images unmount --rm "$at"
  rmdir "$at" 2>/dev/null || true
  printf '%s' "$image" >"$programs.new/image"
  rm -rf "$programs"
  mv "$programs.new" "$programs"
fi`;

const writeCertificates = ({ ca, server, peer, healthcheckClient, apiserverClient }: EtcdCertificates): string => {
  const pairs: readonly (readonly [string, string, EtcdPair])[] = [
    [`${pki}/server.crt`, `${pki}/server.key`, server],
    [`${pki}/peer.crt`, `${pki}/peer.key`, peer],
    [`${pki}/healthcheck-client.crt`, `${pki}/healthcheck-client.key`, healthcheckClient],
    [ETCD_CLIENT.certFile, ETCD_CLIENT.keyFile, apiserverClient],
  ];
  return `
# Whole once the authority is there, which is written last. What was issued by it before stays: every run brings new ones.
if [ "$(cat "$root${pki}/ca.crt" 2>/dev/null || true)" != ${quote(ca.trimEnd())} ]; then
${pairs.flatMap(([cert, key, pair]) => [writeFile(cert, '644', pair.cert), writeFile(key, '600', pair.key)]).join('\n')}
${writeFile(ETCD_CLIENT.caFile, '644', ca)}
${writeFile(`${pki}/ca.crt`, '644', ca)}
fi`;
};

/**
 * Runs a member of the cluster's external etcd on the host. It does not wait for the others: a member is ready once a
 * majority is running, and all of them are started at the same time.
 */
export const etcdMemberScript = (input: EtcdMemberInput): HostScript => {
  const { uid, image, pull, version, self, members, joins, certificates } = input;
  return script(
    { step: 'etcd-member', limitSeconds: 420, lockSeconds: 120 },
    `
changed=false
${foreignData(uid)}
${takePrograms(image, pull)}
${writeCertificates(certificates)}

file=${hostPath(`/etc/systemd/system/${unit}`)}
${writeFile(`/etc/systemd/system/${unit}`, '644', etcdUnit({ token: uid, version, self, members, joins }))}
mkdir -p "$root${data}"
chmod 700 "$root${data}"

# What the member was started with, and last: where that was cut off it is done again.
identity=$(cat "$file" "$programs/image" "$root${pki}/ca.crt" | sha256sum | cut -d ' ' -f 1)
if [ "$(cat "$started")" != "$identity" ]; then
  changed=true
  run systemctl daemon-reload
  run systemctl enable ${unit}
  run systemctl restart --no-block ${unit}
  printf '%s' "$identity" >"$started"
elif ! systemctl is-active --quiet ${unit}; then
  run systemctl start --no-block ${unit}
fi
result "{\\"changed\\":$changed}"
`,
  );
};
