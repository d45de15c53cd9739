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
  const keys = addGroup(program, 'keys', 'Rotate and back up the keys of an installation');
  const rotate = addGroup(keys, 'rotate', 'Rotate keys of an installation');
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
      'Write the keys that seal secrets, each encrypted with the master key, to a file readable only by its owner. Export them after each backup of the data and replace the previous file, so that the secrets of deleted clusters cannot be decrypted from old backups. NATS must be running; services can keep running. To restore, put the file at keys/owner-keys.json in the data folder; the next start reads and removes it.',
    shared: 'none',
    examples: [
      ['fairlead keys export --data .fairlead --to owner-keys.json', 'For the local instance'],
      [
        'fairlead keys export --data /srv/fairlead --nats tls://127.0.0.1:4222 --to owner-keys.json',
        'For an installation with its own NATS and services',
      ],
    ],
  })
    .requiredOption('--data <dir>', 'data folder')
    .requiredOption('--to <file>', 'file to write; an existing file is replaced')
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
const NATS_HELP = 'address of NATS (default: the instance of the data folder)';
const NATS_CA_OPTION = '--nats-ca <file>';
const NATS_CA_HELP = 'CA certificate for a tls:// address (default: keys/nats-ca.pem in the data folder)';

const addMaster = (rotate: Command, io: Io): void => {
  addCommand(rotate, {
    usage: 'master',
    summary: 'Rotate the master key',
    description:
      'Create a new master key, reseal the keys of all secrets with it, and destroy the previous master key; then replace these keys, and reseal every secret. It takes about two minutes. NATS must be running; services can keep running. If the command is interrupted, run it again: it resumes. Earlier exports of the keys can still be decrypted by copies of the previous master key.',
    shared: 'none',
    examples: [
      ['fairlead keys rotate master --data .fairlead', 'For the local instance'],
      [
        'fairlead keys rotate master --data /srv/fairlead --nats tls://127.0.0.1:4222',
        'For an installation with its own NATS and services',
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
          const { resealed, secrets, resumed } = await rotateMasterIn(settings);
          io.err(
            `${resumed ? 'The interrupted rotation is complete' : 'The master key was rotated'}; ${resealed} keys were resealed with it, and the former one is no longer valid. ${secrets} secrets were resealed with new keys.\n`,
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
      'Create new operator and signing keys for NATS, new credentials for all services, and a new key for the certificate of NATS. Fairlead must be stopped; the keys take effect at the next start. Agents keep their credentials for --agents-for, and get new ones in that time.',
    shared: 'none',
    examples: [
      ['fairlead keys rotate nats --data .fairlead', 'Run it after "fairlead down", then start Fairlead again'],
      [
        'fairlead keys rotate nats --data /srv/fairlead --agents-for 0s',
        'Also revoke the credentials of all agents; "fairlead cluster retry" installs new ones over SSH on nodes that are lost',
      ],
    ],
  })
    .requiredOption('--data <dir>', 'data folder')
    .option(
      '--agents-for <duration>',
      'how long the current credentials of agents stay valid (default: 24h, the lifetime of a credential unless AGENT_CREDENTIAL_LIFETIME_S is set)',
      duration,
    )
    .action(
      runs(io, async (_session, given: { readonly data: string; readonly agentsFor?: number }) => {
        const { rotateNatsIn } = await import('./rotate.effects.js');
        const dataDir = resolve(io.cwd, given.data);
        await inSentences(async () => {
          rotateNatsIn({ dataDir, agentsForMs: given.agentsFor ?? AGENTS_FOR_DEFAULT_MS });
          io.err(
            'The keys and credentials of NATS were rotated. Start Fairlead again; or run "fairlead provision keys" as before, restart NATS, and then every service.\n',
          );
        });
      }),
    );
};

const sentenceOf = (rotated: AuthorityRotated): string => {
  switch (rotated.status) {
    case 'announced':
      return `Services and new agents trust the new CA alongside the current one. Agents get it when they renew their credentials; run this command again after ${rotated.until} to complete the rotation.\n`;
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
      'Run this command twice, while NATS, services and agents keep running. The first run creates a new CA that is trusted alongside the current one. The second run, after --agents-for, issues a new certificate, reloads NATS, verifies that NATS serves it, and removes the former CA. If a run is interrupted, run it again: it resumes.',
    shared: 'none',
    examples: [
      ['fairlead keys rotate nats-authority --data .fairlead', 'For the local instance'],
      [
        'fairlead keys rotate nats-authority --data /srv/fairlead --nats tls://127.0.0.1:4222',
        'For an installation with its own NATS and services',
      ],
    ],
  })
    .requiredOption('--data <dir>', 'data folder')
    .option(SECRETS_OPTION, SECRETS_HELP)
    .option(NATS_OPTION, NATS_HELP)
    .option(
      '--agents-for <duration>',
      'how long agents have to get the new CA; agents that miss it need "fairlead cluster retry" (default: 24h, the lifetime of a credential unless AGENT_CREDENTIAL_LIFETIME_S is set)',
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
