import { join } from 'node:path';
import {
  AGENT_INPUT_EXPORTS,
  AGENT_MESSAGE_MAX_BYTES,
  AGENT_OUTPUT_EXPORTS,
  NODE_CONNECTIONS,
  nodePermissions,
  REVOKER,
  revokerPermissions,
  revokerSystemPermissions,
  tunnelPermissions,
  TUNNEL,
  SERVICES,
  servicePermissions,
  type ServiceName,
} from '@fairlead/contracts';
import { readIfAny, writeDurably, writeUnlessSame, writeWhole } from '../folder/files.js';
import {
  accountFields,
  signClaims,
  userFields,
  userTemplate,
  type AccountClaims,
  type SigningKey,
  type UserPermissions,
} from './claims.js';
import type { AccountSigning } from './account.claims.js';
import { claimsOfCreds, mintCredentials, type NodeSigning } from './creds.js';
import { keyOfSeed, newKey, type NKey } from './nkey.js';

/** The revoker's user in the system account; all others are in the services' account. */
const REVOKER_IN_SYSTEM = `${REVOKER}-system` as const;

/** Who has a creds file: each service, the tunnel, the revoker one in each of two accounts, and the administrator who makes the streams. */
export type CredentialName = ServiceName | 'admin' | 'revoker' | 'revoker-system' | 'tunnel';
export const CREDENTIAL_NAMES: readonly CredentialName[] = [...SERVICES, 'admin', REVOKER, 'revoker-system', TUNNEL];

/** A `NodeSigning` in JSON, with which bootstrap-svc signs credentials of nodes. */
export const NODE_SIGNING_FILE = 'node-signing.json';

/** An `AccountSigning` in JSON, with which the revoker signs the claims of the nodes' account. */
export const ACCOUNT_SIGNING_FILE = 'account-signing.json';

/** Everything that a server needs to trust the credentials, and bootstrap-svc to sign those of nodes. */
export interface NatsCredentials {
  readonly operatorJwt: string;
  readonly system: AccountToken;
  /** The account of the services. */
  readonly account: AccountToken;
  /**
   * The account of the agents: it shares with the services' account what `agent.subjects.ts` lists, and nothing else.
   */
  readonly nodes: AccountToken;
  /** Mode 0600. */
  readonly nodeSigningFile: string;
  /** Mode 0600. */
  readonly accountSigningFile: string;
  credsFile(name: CredentialName): string;
}

export interface AccountToken {
  readonly publicKey: string;
  readonly jwt: string;
}

/**
 * Seeds are created once and kept; the claims derive from them. In one file, so that a crash cannot leave half an
 * operator.
 */
interface OperatorSeeds {
  readonly operatorSeed: string;
  /** Signs the accounts. */
  readonly operatorSigningSeed: string;
  readonly systemSeed: string;
  /** Signs the one credential in the system account. */
  readonly systemSigningSeed: string;
  readonly accountSeed: string;
  /** Signs the credentials of services. */
  readonly signingSeed: string;
  readonly nodesSeed: string;
  /** Signs the credentials of nodes, within the scope of `nodeTemplate`. */
  readonly nodeSigningSeed: string;
  /** Earlier keys that signed credentials of nodes, valid until those are renewed. Their seeds are destroyed. */
  readonly formerNodeSigning: readonly FormerKey[];
  /**
   * Issue time of all claims. A server that stores claims of accounts replaces them by these only if they are not
   * older.
   */
  readonly issuedAtSeconds: number;
}

interface FormerKey {
  readonly publicKey: string;
  /** ISO 8601. */
  readonly until: string;
}

/** More rotations than this within the lifetime of a node's credential invalidate the oldest of them. */
const FORMER_KEYS_MAX = 4;

/** An agent receives its own outputs in one subscription; the rest is for updates of the agent. */
const NODE_SUBSCRIPTIONS_MAX = 8;

const nodeTemplate = userTemplate(
  nodePermissions({ namespace: '{{tag(namespace)}}', cluster: '{{tag(cluster)}}', node: '{{tag(node)}}' }),
  { subscriptionsMax: NODE_SUBSCRIPTIONS_MAX, payloadMaxBytes: AGENT_MESSAGE_MAX_BYTES },
);

const administrator: UserPermissions = { publish: ['>'], subscribe: ['>'] };

const permissionsOfHolder = (name: CredentialName, nodesAccount: string): UserPermissions => {
  switch (name) {
    case 'admin':
      return administrator;
    case 'revoker':
      return revokerPermissions();
    case 'revoker-system':
      return revokerSystemPermissions(nodesAccount);
    case 'tunnel':
      return tunnelPermissions();
    default:
      return servicePermissions(name);
  }
};

/**
 * The operator, its accounts and a creds file per service in `<dataDir>/keys` and `<dataDir>/creds`; their keys are
 * created once and reused. A creds file whose permissions differ from those of the code is recreated.
 */
export const ensureCredentials = (
  dataDir: string,
  permissionsOf: (name: CredentialName, nodesAccount: string) => UserPermissions = permissionsOfHolder,
  now: Date = new Date(),
): NatsCredentials => {
  const operator = operatorOf(ensureSeeds(seedsFile(dataDir)), now);
  const nodeSigningFile = keptIn(join(dataDir, 'keys', NODE_SIGNING_FILE), operator.nodeSigning);
  const accountSigningFile = keptIn(join(dataDir, 'keys', ACCOUNT_SIGNING_FILE), operator.accountSigning);
  const credsFile = (name: CredentialName): string => join(dataDir, 'creds', `${name}.creds`);
  for (const name of CREDENTIAL_NAMES)
    ensureCreds(credsFile(name), name, permissionsOf(name, operator.nodes.publicKey), operator);
  const { operatorJwt, system, account, nodes } = operator;
  return { operatorJwt, system, account, nodes, nodeSigningFile, accountSigningFile, credsFile };
};

/** Writes the value to the file unless it is current; returns the file. */
const keptIn = (file: string, value: unknown): string => {
  writeUnlessSame(file, `${JSON.stringify(value)}\n`);
  return file;
};

const seedsFile = (dataDir: string): string => join(dataDir, 'keys', 'nats-operator.json');

/**
 * Replaces every signing key, and with it all credentials of services, which become invalid when NATS is started with
 * the new ones. Existing credentials of nodes remain valid for `nodesForMs`, within which they are renewed; 0
 * invalidates them, too. The accounts keep their names, under which JetStream stores its streams; their own keys sign
 * nothing.
 */
export const rotateCredentials = (
  dataDir: string,
  { now, nodesForMs }: { readonly now: Date; readonly nodesForMs: number },
): NatsCredentials => {
  const seeds = ensureSeeds(seedsFile(dataDir));
  const former = {
    publicKey: keyOfSeed(seeds.nodeSigningSeed).publicKey,
    until: new Date(now.getTime() + nodesForMs).toISOString(),
  };
  const rotated: OperatorSeeds = {
    ...seeds,
    operatorSeed: newKey('operator').seed,
    operatorSigningSeed: newKey('operator').seed,
    systemSigningSeed: newKey('account').seed,
    signingSeed: newKey('account').seed,
    nodeSigningSeed: newKey('account').seed,
    issuedAtSeconds: Math.floor(now.getTime() / 1_000),
    formerNodeSigning:
      nodesForMs > 0 ? [former, ...standing(seeds.formerNodeSigning, now)].slice(0, FORMER_KEYS_MAX) : [],
  };
  writeDurably(seedsFile(dataDir), seedsText(rotated));
  return ensureCredentials(dataDir, permissionsOfHolder, now);
};

const RELOADER_SECONDS = 60;

/**
 * A credential of the system account that may make servers reload their configuration, valid for a minute. Not written
 * to a file.
 */
export const mintReloader = (dataDir: string): string => {
  const { systemSigningSeed, systemSeed } = ensureSeeds(seedsFile(dataDir));
  return mintCredentials({
    signingSeed: systemSigningSeed,
    accountPublicKey: keyOfSeed(systemSeed).publicKey,
    name: 'fairlead-keys',
    permissions: { publish: ['$SYS.REQ.SERVER.*.RELOAD'], subscribe: ['_INBOX.>'] },
    expiresInSeconds: RELOADER_SECONDS,
  });
};

const standing = (keys: readonly FormerKey[], now: Date): readonly FormerKey[] =>
  keys.filter(({ until }) => Date.parse(until) > now.getTime());

const seedsText = (seeds: OperatorSeeds): string => `${JSON.stringify(seeds, undefined, 2)}\n`;

/**
 * The claims derive from the seeds and from this code: the same ones at each start, until a former key of nodes has
 * expired.
 */
const FIRST_ISSUED_AT_SECONDS = 1_700_000_000;

const ensureSeeds = (file: string): OperatorSeeds => {
  const text = readIfAny(file);
  const known = text === undefined ? {} : (JSON.parse(text) as Partial<OperatorSeeds>);
  const seeds: OperatorSeeds = {
    operatorSeed: known.operatorSeed ?? newKey('operator').seed,
    operatorSigningSeed: known.operatorSigningSeed ?? newKey('operator').seed,
    systemSeed: known.systemSeed ?? newKey('account').seed,
    systemSigningSeed: known.systemSigningSeed ?? newKey('account').seed,
    accountSeed: known.accountSeed ?? newKey('account').seed,
    // Before nodes had their own account, this key signed their credentials: it is replaced, which invalidates them.
    signingSeed: (known.nodesSeed === undefined ? undefined : known.signingSeed) ?? newKey('account').seed,
    nodesSeed: known.nodesSeed ?? newKey('account').seed,
    nodeSigningSeed: known.nodeSigningSeed ?? newKey('account').seed,
    formerNodeSigning: known.formerNodeSigning ?? [],
    issuedAtSeconds: known.issuedAtSeconds ?? FIRST_ISSUED_AT_SECONDS,
  };
  const whole = seedsText(seeds);
  if (text !== whole) writeWhole(file, whole);
  return seeds;
};

interface Operator {
  readonly operatorJwt: string;
  readonly system: AccountToken;
  readonly account: AccountToken;
  readonly nodes: AccountToken;
  readonly signingSeed: string;
  readonly systemSigningSeed: string;
  readonly nodeSigning: NodeSigning;
  readonly accountSigning: AccountSigning;
}

const operatorOf = (seeds: OperatorSeeds, now: Date): Operator => {
  const keys = {
    operator: keyOfSeed(seeds.operatorSeed),
    operatorSigning: keyOfSeed(seeds.operatorSigningSeed),
    system: keyOfSeed(seeds.systemSeed),
    systemSigning: keyOfSeed(seeds.systemSigningSeed),
    account: keyOfSeed(seeds.accountSeed),
    signing: keyOfSeed(seeds.signingSeed),
    nodes: keyOfSeed(seeds.nodesSeed),
    nodeSigning: keyOfSeed(seeds.nodeSigningSeed),
  };
  const accountToken = (name: string, key: NKey, claims: AccountClaims): AccountToken => ({
    publicKey: key.publicKey,
    jwt: signClaims(
      {
        type: 'account',
        name,
        subject: key.publicKey,
        fields: accountFields(claims),
        issuedAtSeconds: seeds.issuedAtSeconds,
      },
      keys.operatorSigning,
    ),
  });
  const scoped = (key: string): SigningKey => ({ kind: 'user_scope', key, role: 'node', template: nodeTemplate });
  const nodes = accountToken('NODES', keys.nodes, {
    signingKeys: [
      keys.nodeSigning.publicKey,
      ...standing(seeds.formerNodeSigning, now).map(({ publicKey }) => publicKey),
    ].map(scoped),
    jetStream: false,
    exports: AGENT_INPUT_EXPORTS,
    imports: AGENT_OUTPUT_EXPORTS.map((subject) => ({ subject, account: keys.account.publicKey })),
    // The revoker raises it with the number of nodes.
    connectionsMax: NODE_CONNECTIONS.accountMin,
    payloadMaxBytes: AGENT_MESSAGE_MAX_BYTES,
  });
  return {
    operatorJwt: signClaims(
      {
        type: 'operator',
        name: 'fairlead',
        subject: keys.operator.publicKey,
        fields: {
          system_account: keys.system.publicKey,
          signing_keys: [keys.operatorSigning.publicKey],
          // The key of an account, without a signing key, cannot create a credential.
          strict_signing_key_usage: true,
        },
        issuedAtSeconds: seeds.issuedAtSeconds,
      },
      keys.operator,
    ),
    system: accountToken('SYS', keys.system, { signingKeys: [keys.systemSigning.publicKey], jetStream: false }),
    account: accountToken('FAIRLEAD', keys.account, {
      signingKeys: [keys.signing.publicKey],
      jetStream: true,
      exports: AGENT_OUTPUT_EXPORTS,
      imports: AGENT_INPUT_EXPORTS.map((subject) => ({ subject, account: keys.nodes.publicKey })),
    }),
    nodes,
    signingSeed: seeds.signingSeed,
    systemSigningSeed: seeds.systemSigningSeed,
    nodeSigning: { accountPublicKey: keys.nodes.publicKey, signingSeed: seeds.nodeSigningSeed },
    accountSigning: { operatorSigningSeed: seeds.operatorSigningSeed, accountJwt: nodes.jwt },
  };
};

const ensureCreds = (file: string, name: CredentialName, permissions: UserPermissions, operator: Operator): void => {
  const known = readIfAny(file);
  const signing = signingOf(name, operator);
  if (known !== undefined && isCurrent(known, name, permissions, signing)) return;
  writeWhole(file, mintCredentials({ ...signing, name, permissions }));
};

interface UserSigning {
  readonly signingSeed: string;
  readonly accountPublicKey: string;
}

const signingOf = (name: CredentialName, operator: Operator): UserSigning =>
  name === REVOKER_IN_SYSTEM
    ? { signingSeed: operator.systemSigningSeed, accountPublicKey: operator.system.publicKey }
    : { signingSeed: operator.signingSeed, accountPublicKey: operator.account.publicKey };

const isCurrent = (
  creds: string,
  name: CredentialName,
  permissions: UserPermissions,
  signing: UserSigning,
): boolean => {
  const { iss, nats, name: holder } = claimsOfCreds(creds);
  const desired = userFields(signing.accountPublicKey, permissions);
  const same = (field: string): boolean => JSON.stringify(nats[field]) === JSON.stringify(desired[field]);
  return (
    holder === name && iss === keyOfSeed(signing.signingSeed).publicKey && ['pub', 'sub', 'issuer_account'].every(same)
  );
};
