import { EXTERNAL_ETCD } from '@fairlead/contracts';
import { hostPath } from '../shell/quote.js';
import { script, writeFile, type HostScript } from '../shell/script.js';

/** Everything that a verification writes is in this folder. */
const FOLDER = '/var/lib/fairlead/etcd-verification';
export const VERIFIED_SNAPSHOT = `${FOLDER}/snapshot.db`;

const UNIT = 'fairlead-etcd-verification';
/** Deletes the folder if the step that created it never finished. */
const END_UNIT = `${UNIT}-end`;
const END_SECONDS = 3_600;
/** The same after a reboot, which stops that timer. */
const TMPFILES = `/etc/tmpfiles.d/${UNIT}.conf`;
const PROGRAM = `${FOLDER}/verify.sh`;
const IMAGE_AT = '/run/fairlead/etcd-verification-image';

const MIB = 1_024 ** 2;
const KIB = 1_024;
/** The snapshot, the database restored from it, and room to grow. */
const DISK_COPIES = 3;
/** Two segments of etcd's log, 64 MiB each, and their successors. */
const DISK_SPARE_KIB = 300 * KIB;
const MEMORY_SPARE_MIB = 512;
const UNIT_SECONDS = 1_200;
const START_SECONDS = 300;

export interface PrepareVerificationInput {
  /** Size of the snapshot in bytes. */
  readonly bytes: number;
}

export interface PrepareVerificationResult {
  /** null: the snapshot can be uploaded. */
  readonly problem: string | null;
}

export type VerifySnapshotInput = PrepareVerificationInput;

export interface VerifySnapshotResult {
  /** null: etcd was restored, and answered. */
  readonly problem: string | null;
  readonly status: { readonly hash: number; readonly revision: number; readonly totalKey: number } | null;
  readonly revision: number | null;
  /** Number of Kubernetes keys. */
  readonly objects: number | null;
}

const END = `
end_verification() {
  systemctl stop ${UNIT}.service ${END_UNIT}.timer >/dev/null 2>&1 || true
  if [ -d ${hostPath(IMAGE_AT)} ]; then
    ctr --namespace k8s.io images unmount --rm ${hostPath(IMAGE_AT)} >>"$log" 2>&1 || true
    rmdir ${hostPath(IMAGE_AT)} 2>/dev/null || true
  fi
  rm -rf ${hostPath(FOLDER)}
}`;

/**
 * Ends a verification that an earlier step left, and checks that the disk, which is often that of the cluster's etcd,
 * has enough space for another one. Everything written from then on is deleted an hour later, whatever happens to
 * Fairlead.
 */
export const prepareVerificationScript = ({ bytes }: PrepareVerificationInput): HostScript =>
  script(
    { step: 'prepare-verification', limitSeconds: 120, lockSeconds: 60 },
    `
${END.trim()}
end_verification

needed=${Math.ceil((bytes * DISK_COPIES) / KIB) + DISK_SPARE_KIB}
free=$(df -Pk "$root/var/lib/fairlead" | awk 'NR == 2 { print $4 }')
if [ "$free" -lt "$needed" ]; then
  result "{\\"problem\\":$(json_text "a verification needs $((needed / 1024)) MiB on the disk of the host, and $((free / 1024)) MiB are free")}"
  exit 0
fi
${writeFile(TMPFILES, '644', `R! ${FOLDER}\n`)}
run systemd-run --quiet --collect --on-active=${END_SECONDS} --unit=${END_UNIT} rm -rf ${hostPath(FOLDER)}
mkdir -p ${hostPath(FOLDER)}
chmod 700 ${hostPath(FOLDER)}
result '{"problem":null}'`,
  );

const PROGRAMS = `
programs=${hostPath(EXTERNAL_ETCD.programs)}
if [ ! -x "$programs/etcdutl" ]; then
  image=$(sed -n 's/^ *image: *//p' "$root/etc/kubernetes/manifests/etcd.yaml" | head -n 1)
  [ -n "$image" ] || fail 'this host has no etcd'
  mkdir -p ${hostPath(IMAGE_AT)}
  run ctr --namespace k8s.io images mount "$image" ${hostPath(IMAGE_AT)}
  programs=${hostPath(`${IMAGE_AT}/usr/local/bin`)}
fi`;

const SCRATCH = 'http://127.0.0.1:12379';
const SCRATCH_PEER = 'http://127.0.0.1:12380';

/** Runs in the unit, which has a private network: it uses no port of the host, and nothing else reaches this etcd. */
const VERIFY = `#!/bin/sh
set -eu
folder=$1
programs=$2
cd "$folder"
unset ETCDCTL_ENDPOINTS || true
export ETCDCTL_API=3
member="--name=scratch --initial-cluster=scratch=${SCRATCH_PEER} --initial-advertise-peer-urls=${SCRATCH_PEER}"

"$programs/etcdutl" snapshot status snapshot.db -w json >status
# shellcheck disable=SC2086 # Each word is an option.
"$programs/etcdutl" snapshot restore snapshot.db $member --initial-cluster-token=scratch --data-dir=data
# shellcheck disable=SC2086
"$programs/etcd" $member --initial-cluster-token=scratch --data-dir=data --listen-client-urls=${SCRATCH} \\
  --advertise-client-urls=${SCRATCH} --listen-peer-urls=${SCRATCH_PEER} --quota-backend-bytes=8589934592 \\
  --unsafe-no-fsync --log-level=error &
etcd=$!

ask() { "$programs/etcdctl" --endpoints=${SCRATCH} --command-timeout=60s "$@"; }
waited=0
until ask endpoint health >/dev/null 2>&1; do
  kill -0 "$etcd" 2>/dev/null || { echo 'the scratch etcd has ended' >&2; exit 1; }
  [ "$waited" -lt ${START_SECONDS} ] || { echo 'the scratch etcd does not answer' >&2; exit 1; }
  waited=$((waited + 1))
  sleep 1
done
# Reads every key and every value.
ask endpoint hashkv >/dev/null
ask get /registry/ --prefix --count-only -w fields >answer
kill "$etcd"
wait "$etcd" || true
`;

const number = (name: string): string => `sed -n 's/.*"${name}" *: *\\([0-9][0-9]*\\).*/\\1/p'`;

/**
 * Restores the snapshot into a scratch etcd, starts it, and reads all keys. A systemd unit limits processes, memory and
 * time, and nothing of it is left when the step ends.
 */
export const verifySnapshotScript = ({ bytes }: VerifySnapshotInput): HostScript => {
  const memoryMib = MEMORY_SPARE_MIB + Math.ceil((2 * bytes) / MIB);
  return script(
    { step: 'verify-snapshot', limitSeconds: UNIT_SECONDS + 60, lockSeconds: null },
    `
${END.trim()}
trap 'end_verification; clean_up' EXIT

folder=${hostPath(FOLDER)}
[ -f "$folder/snapshot.db" ] || fail 'the snapshot is not there'
${PROGRAMS.trim()}
${writeFile(PROGRAM, '700', VERIFY)}
code=0
systemd-run --quiet --collect --wait --pipe --unit=${UNIT} \\
  --property=PrivateNetwork=yes --property=RuntimeMaxSec=${UNIT_SECONDS} --property=MemoryMax=${memoryMib}M \\
  --property=OOMScoreAdjust=1000 --property=Nice=19 --property=IOSchedulingClass=idle --property=CPUQuota=100% \\
  sh "$folder/verify.sh" "$folder" "$programs" >"$folder/said" 2>&1 </dev/null || code=$?
cat "$folder/said" >>"$log"
if [ "$code" -ne 0 ]; then
  words=$(grep -v '^{"level":"\\(info\\|debug\\)"\\|info' "$folder/said" | tail -n 5 || true)
  [ -n "$words" ] || words="the unit ended with exit code $code: its limits are ${memoryMib} MiB of memory and ${UNIT_SECONDS} s"
  result "{\\"problem\\":$(json_text "$words"),\\"status\\":null,\\"revision\\":null,\\"objects\\":null}"
  exit 0
fi
hash=$(${number('hash')} <"$folder/status")
at=$(${number('revision')} <"$folder/status")
keys=$(${number('totalKey')} <"$folder/status")
revision=$(${number('Revision')} <"$folder/answer")
objects=$(${number('Count')} <"$folder/answer")
result "{\\"problem\\":null,\\"status\\":{\\"hash\\":$hash,\\"revision\\":$at,\\"totalKey\\":$keys},\\"revision\\":$revision,\\"objects\\":$objects}"
`,
  );
};
