import { join, resolve } from 'node:path';
import type { Command } from 'commander';
import { addCommand, addGroup, runs } from '../command/command.js';
import { duration } from '../command/parsers.js';
import type { Io } from '../io/io.js';
import type { AuthorityRotated } from './authority.rotation.effects.js';
import type { NatsSettings } from '../instance/administrator.effects.js';
import { addConnectionRotation } from './connection.rotation.commands.js';
import { inSentences, SECRETS_HELP, SECRETS_OPTION } from '../provision/provision.commands.js';

interface RotateOptions {
  readonly data: string;
  readonly secrets?: string;
  readonly nats?: string;
  readonly natsCa?: string;
}

export const addKeysCommands = (program: Command, io: Io): void => {
  const keys = addGroup(program, 'keys', 'The keys of an installation');
  const rotate = addGroup(keys, 'rotate', 'Exchange keys of an installation for new ones');
  addMaster(rotate, io);
  addNats(rotate, io);
  addNatsAuthority(rotate, io);
  addConnectionRotation(rotate, io);
  addExport(keys, io);
};

const addExport = (keys: Command, io: Io): void => {
  addCommand(keys, {
    usage: 'export',
    summary: 'Back up the keys of all secrets, without the secrets',
    description:
      'Write the keys by which secrets are sealed to a file that only its owner may read; the master key seals each of them. Make the file after each backup of the data, and replace the previous one: the secrets of a cluster that was deleted before open in no backup of the data beside it. NATS must be running; services can keep running. To restore, put the file at keys/owner-keys.json in the data folder before the start, which reads and removes it.',
    shared: 'none',
    examples: [
      ['fairlead keys export --data .fairlead --to owner-keys.json', 'Of the instance of that data folder'],
      [
        'fairlead keys export --data /srv/fairlead --nats tls://127.0.0.1:4222 --to owner-keys.json',
        'With NATS and services of your own',
      ],
    ],
  })
    .requiredOption('--data <dir>', 'data folder')
    .requiredOption('--to <file>', 'the file to write; one that exists is replaced')
    .option(NATS_OPTION, NATS_HELP)
    .option(NATS_CA_OPTION, NATS_CA_HELP)
    .action(
      runs(io, async (_session, given: RotateOptions & { readonly to: string }) => {
        const { exportOwnerKeysOf } = await import('./rotate.effects.js');
        await inSentences(async () => {
          const file = resolve(io.cwd, given.to);
          const count = await exportOwnerKeysOf(natsSettingsOf(io, given), file);
          io.err(`${count} keys of secrets are in ${file}; destroy earlier copies.\n`);
        });
      }),
    );
};

const natsSettingsOf = (io: Io, { data, nats, natsCa }: RotateOptions): NatsSettings => ({
  dataDir: resolve(io.cwd, data),
  nats,
  natsCa: natsCa === undefined ? undefined : resolve(io.cwd, natsCa),
});

const NATS_OPTION = '--nats <url>';
const NATS_HELP = 'address of NATS (default: that of the instance of the data folder)';
const NATS_CA_OPTION = '--nats-ca <file>';
const NATS_CA_HELP = 'authority of the certificate of a tls:// address (default: keys/nats-ca.pem of the data folder)';

const addMaster = (rotate: Command, io: Io): void => {
  addCommand(rotate, {
    usage: 'master',
    summary: 'Rotate the master key',
    description:
      'Create a new master key, reseal the keys of all secrets with it, and destroy the previous master key. NATS must be running; services can keep running. If the command is interrupted, run it again: it resumes. Earlier backups of the keys of secrets still open with the previous master key, wherever a copy of it is kept.',
    shared: 'none',
    examples: [
      ['fairlead keys rotate master --data .fairlead', 'Of the instance of that data folder'],
      [
        'fairlead keys rotate master --data /srv/fairlead --nats tls://127.0.0.1:4222',
        'With NATS and services of your own',
      ],
    ],
  })
    .requiredOption('--data <dir>', 'data folder')
    .option(SECRETS_OPTION, SECRETS_HELP)
    .option(NATS_OPTION, NATS_HELP)
    .option(NATS_CA_OPTION, NATS_CA_HELP)
    .action(
      runs(io, async (_session, given: RotateOptions) => {
        const { rotateMasterIn } = await import('./rotate.effects.js');
        const nats = natsSettingsOf(io, given);
        const settings = { ...nats, secretsDir: resolve(io.cwd, given.secrets ?? join(nats.dataDir, 'secrets')) };
        await inSentences(async () => {
          const { resealed, resumed } = await rotateMasterIn(settings);
          io.err(
            `${resumed ? 'The rotation that had begun is complete' : 'The master key is a new one'}; ${resealed} keys were resealed with it, and the former one opens nothing any more.\n`,
          );
        });
      }),
    );
};

const AGENTS_FOR_DEFAULT_MS = 24 * 60 * 60 * 1000;

const addNats = (rotate: Command, io: Io): void => {
  addCommand(rotate, {
    usage: 'nats',
    summary: 'Rotate the keys that sign NATS credentials, and the credentials of all services',
    description:
      "Make new keys of the operator and new signing keys, new credentials of all services, and a new key of NATS' certificate. Fairlead must be stopped; everything counts when NATS and the services are started again. Agents reach NATS with what they have for --agents-for, and get new credentials meanwhile.",
    shared: 'none',
    examples: [
      ['fairlead keys rotate nats --data .fairlead', 'After "fairlead down"; then start Fairlead again'],
      [
        'fairlead keys rotate nats --data /srv/fairlead --agents-for 0s',
        'Also ends the credentials of all agents: "cluster retry" brings new ones by SSH to nodes that are reported lost',
      ],
    ],
  })
    .requiredOption('--data <dir>', 'data folder')
    .option(
      '--agents-for <duration>',
      'how long the credentials that agents have go on (default: 24h, the life of one unless AGENT_CREDENTIAL_LIFETIME_S says otherwise)',
      duration,
    )
    .action(
      runs(io, async (_session, given: { readonly data: string; readonly agentsFor?: number }) => {
        const { rotateNatsIn } = await import('./rotate.effects.js');
        const dataDir = resolve(io.cwd, given.data);
        await inSentences(async () => {
          rotateNatsIn({ dataDir, agentsForMs: given.agentsFor ?? AGENTS_FOR_DEFAULT_MS });
          io.err(
            'The keys and credentials of NATS are new ones. Start Fairlead again; or run "fairlead provision keys" as before, restart NATS, and then every service.\n',
          );
        });
      }),
    );
};

const sentenceOf = (rotated: AuthorityRotated): string => {
  switch (rotated.status) {
    case 'announced':
      return `Services and new agents trust the new authority beside the present one. Agents get it when they renew their credentials; run this command again after ${rotated.until} to complete the rotation.\n`;
    case 'waiting':
      return `Agents are still getting the new authority. Run this command again after ${rotated.until} to complete the rotation.\n`;
    case 'complete':
      return 'NATS has a certificate of the new authority, and the former authority is no longer trusted.\n';
  }
};

const addNatsAuthority = (rotate: Command, io: Io): void => {
  addCommand(rotate, {
    usage: 'nats-authority',
    summary: 'Rotate the CA of NATS, and the certificate of NATS',
    description:
      'Run it twice, while NATS, services and agents keep running. The first run creates a new authority and has it trusted beside the present one. The second run, after --agents-for, creates a new certificate, has NATS load it, verifies that NATS shows it, and removes the former authority. If a run is interrupted, run it again: it resumes.',
    shared: 'none',
    examples: [
      ['fairlead keys rotate nats-authority --data .fairlead', 'Of the instance of that data folder'],
      [
        'fairlead keys rotate nats-authority --data /srv/fairlead --nats tls://127.0.0.1:4222',
        'With NATS and services of your own',
      ],
    ],
  })
    .requiredOption('--data <dir>', 'data folder')
    .option(SECRETS_OPTION, SECRETS_HELP)
    .option(NATS_OPTION, NATS_HELP)
    .option(
      '--agents-for <duration>',
      'how long agents have to get the new authority; those that did not need "cluster retry" (default: 24h, the life of a credential unless AGENT_CREDENTIAL_LIFETIME_S says otherwise)',
      duration,
    )
    .action(
      runs(io, async (_session, given: RotateOptions & { readonly agentsFor?: number }) => {
        const { rotateAuthorityIn } = await import('./rotate.effects.js');
        const dataDir = resolve(io.cwd, given.data);
        const settings = {
          dataDir,
          secretsDir: resolve(io.cwd, given.secrets ?? join(dataDir, 'secrets')),
          nats: given.nats,
          natsCa: undefined,
          agentsForMs: given.agentsFor ?? AGENTS_FOR_DEFAULT_MS,
        };
        await inSentences(async () => {
          io.err(sentenceOf(await rotateAuthorityIn(settings)));
        });
      }),
    );
};
