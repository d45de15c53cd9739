import type { Command } from 'commander';
import type { CertificateView } from '../api/api.ports.js';
import { clusterAt } from '../command/session.js';
import { addCommand, addGroup, runs } from '../command/command.js';
import type { Io } from '../io/io.js';
import type { Answer } from '../output/format.js';
import { addStartOptions, runUpgrade, type RunOptions } from '../upgrade/upgrade.commands.js';

export const addCertificateCommands = (program: Command, io: Io): void => {
  const certificates = addGroup(program, 'certificates', "See when a cluster's certificates end, and renew them");
  addCommand(certificates, {
    usage: 'list <cluster>',
    summary: 'List the certificates of control planes and kubelets, the first to expire first',
    examples: [['fairlead certificates list demo', 'As the agents on the nodes said last']],
  })
    .alias('ls')
    .action(
      runs(io, async (session, name: string) =>
        certificatesAnswer(await session.api.certificates(clusterAt(session, name))),
      ),
    );
  addStartOptions(
    addCommand(certificates, {
      usage: 'renew <cluster>',
      summary: 'Renew the certificates of the control planes, one after the other',
      description:
        'Renew the certificates of the control planes, one after the other: an upgrade that changes nothing else. It is planned, shown and approved as every upgrade is.',
      examples: [['fairlead certificates renew demo --yes', 'And watch']],
    }),
  ).action(
    runs(io, (session, name: string, options: RunOptions) =>
      runUpgrade(session, clusterAt(session, name), { renewCertificates: true, pools: [] }, options),
    ),
  );
};

const certificatesAnswer = (certificates: readonly CertificateView[]): Answer => ({
  data: certificates,
  table: {
    columns: ['node', 'certificate', 'ends', 'days left'],
    rows: certificates.map(({ node, name, expiresAt, daysLeft }) => [node, name, expiresAt, String(daysLeft)]),
    empty: 'No agent has reported certificates yet.',
  },
  names: certificates.map(({ node, name }) => `${node}/${name}`),
});
