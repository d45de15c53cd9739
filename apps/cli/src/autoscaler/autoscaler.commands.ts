import { newClientRequest } from '@fairlead/embedded/credentials';
import { makeFolder, writeWhole } from '@fairlead/embedded/process';
import type { Command } from 'commander';
import { dirname, resolve } from 'node:path';
import { addCommand, addGroup, runs } from '../command/command.js';
import { addConfirmOption, confirm, type ConfirmOptions } from '../command/confirm.js';
import { duration } from '../command/parsers.js';
import { clusterAt, type Session } from '../command/session.js';
import type { Io } from '../io/io.js';
import type { CommandOutput } from '../output/format.js';
import { optional } from '../output/table.js';
import { secretManifest } from './secret.manifest.js';

export const addAutoscalerCommands = (program: Command, io: Io): void => {
  const autoscaler = addGroup(program, 'autoscaler', 'Manage credentials for the Cluster Autoscaler');
  addCredentials(autoscaler, io);
  addList(autoscaler, io);
  addRevoke(autoscaler, io);
};

const DAY_MS = 24 * 60 * 60 * 1000;

interface CredentialOptions {
  /** Milliseconds. */
  readonly ttl?: number;
  readonly out?: string;
}

const addCredentials = (parent: Command, io: Io): void => {
  addCommand(parent, {
    usage: 'credentials <cluster>',
    summary: 'Issue a client certificate for the Cluster Autoscaler',
    description:
      'Issue a client certificate for the Cluster Autoscaler (--cloud-provider=externalgrpc), printed as the Secret fairlead-autoscaler of the namespace kube-system together with its cloud configuration. The private key is generated locally and never sent. The certificate can only scale the pools of this cluster that have bounds, within those bounds. The history records each certificate.',
    shared: 'out-file',
    examples: [
      [
        'fairlead autoscaler credentials demo | kubectl apply -f -',
        'Create the Secret in the cluster that kubectl uses',
      ],
      [
        'fairlead autoscaler credentials demo --ttl 90d -o autoscaler.yaml',
        'Write a Secret that is valid for 90 days to a file',
      ],
    ],
  })
    .option('--ttl <duration>', 'lifetime of the certificate, 1d to 3650d (default: 365d)', duration)
    .option('-o, --out <file>', 'write to this file with mode 0600 instead of standard output')
    .action(runs(io, credentials));
};

const credentials = async (session: Session, name: string, { ttl, out }: CredentialOptions): Promise<CommandOutput> => {
  const at = clusterAt(session, name);
  const { key, csr } = await newClientRequest(`${at.namespace}/${at.cluster}`);
  const { data: issued } = await session.api.post('/ns/{namespace}/clusters/{cluster}/autoscaler/credentials', at, {
    body: {
      csr,
      ...(ttl === undefined ? {} : { ttlDays: Math.ceil(ttl / DAY_MS) }),
    },
  });
  const text = secretManifest(issued, key);
  if (out === undefined) return { data: { ...issued, key, manifest: text }, table: text, names: [issued.id] };
  const file = resolve(session.io.cwd, out);
  makeFolder(dirname(file), 0o700);
  writeWhole(file, text);
  const words = `Wrote ${file}: the certificate ${issued.id}, valid until ${issued.expiresAt}.`;
  return { data: { ...issued, file }, table: words, names: [issued.id] };
};

const addList = (parent: Command, io: Io): void => {
  addCommand(parent, {
    usage: 'list <cluster>',
    summary: 'List the valid client certificates of autoscalers',
    examples: [['fairlead autoscaler list demo', 'List the certificates with their expiry']],
  })
    .alias('ls')
    .action(
      runs(io, async (session, name: string) => {
        const items = await session.api.list(
          '/ns/{namespace}/clusters/{cluster}/autoscaler/credentials',
          clusterAt(session, name),
        );
        return {
          data: items,
          table: {
            columns: ['id', 'created', 'expires', optional('key', 1)],
            rows: items.map(({ id, createdTime, expiresAt, keySha256 }) => [
              id,
              createdTime,
              expiresAt,
              `sha256:${keySha256}`,
            ]),
            empty: 'The cluster has no credentials for autoscalers.',
          },
          names: items.map(({ id }) => id),
        };
      }),
    );
};

const addRevoke = (parent: Command, io: Io): void => {
  const command = addCommand(parent, {
    usage: 'revoke <cluster> <id>',
    summary: 'Revoke the client certificate of an autoscaler',
    examples: [['fairlead autoscaler revoke demo 9f2c4e6a8b0d1f35', 'Revoke it with immediate effect']],
  });
  addConfirmOption(command).action(
    runs(io, async (session, name: string, id: string, options: ConfirmOptions) => {
      await confirm(io, { what: `The certificate ${id} of ${name} will be revoked with immediate effect` }, options);
      await session.api.delete('/ns/{namespace}/clusters/{cluster}/autoscaler/credentials/{credential}', {
        ...clusterAt(session, name),
        credential: id,
      });
      return { data: { id, revoked: true }, table: `The certificate ${id} is revoked.`, names: [id] };
    }),
  );
};
