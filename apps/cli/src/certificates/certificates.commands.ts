import type { Command } from 'commander';
import type { CertificateView } from '../api/views.js';
import { clusterAt } from '../command/session.js';
import { addCommand, addGroup, runs } from '../command/command.js';
import type { Io } from '../io/io.js';
import type { CommandOutput } from '../output/format.js';
import { addStartOptions, runUpgrade, type RunOptions } from '../upgrade/upgrade.commands.js';

export const addCertificateCommands = (program: Command, io: Io): void => {
  const certificates = addGroup(program, 'certificates', 'List and renew the certificates of a cluster');
  addCommand(certificates, {
    usage: 'list <cluster>',
    summary: 'List the certificates of control planes and kubelets by expiry',
    examples: [['fairlead certificates list demo', 'List them as last reported by the agents']],
  })
    .alias('ls')
    .action(
      runs(io, async (session, name: string) =>
        certificatesAnswer(
          await session.api.list('/ns/{namespace}/clusters/{cluster}/certificates', clusterAt(session, name)),
        ),
      ),
    );
  addStartOptions(
    addCommand(certificates, {
      usage: 'renew <cluster>',
      summary: 'Renew the certificates of the control planes, one at a time',
      description:
        'Renew the certificates of the control planes, one at a time. This is an upgrade that changes nothing else, and is planned and approved like any upgrade.',
      examples: [['fairlead certificates renew demo --yes', 'Follow the rollout']],
    }),
    io,
  ).action(
    runs(io, (session, name: string, options: RunOptions) =>
      runUpgrade(session, clusterAt(session, name), { renewCertificates: true, pools: [] }, options),
    ),
  );
};

const certificatesAnswer = (certificates: readonly CertificateView[]): CommandOutput => ({
  data: certificates,
  table: {
    columns: ['node', 'certificate', 'expires', 'days left'],
    rows: certificates.map(({ node, name, expiresAt, daysLeft }) => [node, name, expiresAt, String(daysLeft)]),
    empty: 'No agent has reported certificates yet.',
  },
  names: certificates.map(({ node, name }) => `${node}/${name}`),
});
