import type { ReleaseSignersView, ReleaseView } from '../api/views.js';
import type { CommandOutput } from '../output/format.js';
import { optional, prose } from '../output/table.js';

export const VERIFIED: Readonly<Record<ReleaseView['verified'], string>> = {
  real: 'run on real hosts',
  lab: 'run in the lab, which simulates hosts',
  listed: 'only listed: nothing has run it with Fairlead',
};

const stateOf = ({ withdrawn }: ReleaseView): string => (withdrawn === null ? '' : `withdrawn: ${withdrawn}`);

export const listAnswer = (items: readonly ReleaseView[]): CommandOutput => ({
  data: items,
  table: {
    columns: ['version', 'verified', 'etcd', optional('coredns', 2), optional('pause', 1), 'origin', prose('state')],
    rows: items.map((item) => [
      item.version,
      item.verified,
      item.etcd,
      item.coredns,
      item.pause,
      item.origin,
      stateOf(item),
    ]),
    empty: 'No release matches.',
  },
  names: items.map(({ version }) => version),
});

const ORIGINS: Readonly<Record<ReleaseView['origin'], string>> = {
  'built-in': 'came with Fairlead',
  catalogue: 'from a signed catalogue',
  added: 'added by an administrator',
};

const digestLines = ({ sha256 }: ReleaseView): readonly string[] => {
  if (sha256 === null) return ['  SHA-256 of its programs: not known'];
  return Object.entries(sha256).flatMap(([architecture, programs]) =>
    Object.entries(programs).map(([program, digest]) => `  ${architecture} ${program.padEnd(10)} ${digest}`),
  );
};

const releaseText = (item: ReleaseView): string =>
  [
    `Kubernetes ${item.version}`,
    `  verified: ${VERIFIED[item.verified]}`,
    `  origin: ${ORIGINS[item.origin]}`,
    ...(item.withdrawn === null ? [] : [`  withdrawn: ${item.withdrawn}`]),
    `  kubeadm: ${item.kubeadmApi}`,
    `  etcd: ${item.etcd}`,
    `  coredns: ${item.coredns}`,
    `  pause: ${item.pause}`,
    `  containerd: ${item.containerd}`,
    `  cni-plugins: ${item.cniPlugins}`,
    ...digestLines(item),
  ].join('\n');

export const releaseAnswer = (item: ReleaseView): CommandOutput => ({
  data: item,
  table: releaseText(item),
  names: [item.version],
});

export const signersAnswer = (view: ReleaseSignersView): CommandOutput => ({
  data: view,
  table: {
    columns: ['signer', 'trusted', 'catalogue', 'expires'],
    rows: [...new Set([...view.signers, ...view.catalogues.map(({ signer }) => signer)])].map((signer) => {
      const last = view.catalogues.find((one) => one.signer === signer);
      return [
        signer,
        view.signers.includes(signer) ? 'yes' : 'no',
        last === undefined ? '-' : String(last.sequence),
        last === undefined ? '-' : `${last.expiresTime}${last.expired ? ' (expired: import a newer one)' : ''}`,
      ];
    }),
    empty: 'No signer of releases is trusted.',
  },
  names: view.signers,
});
