import { join } from 'node:path';
import {
  AGENT_INPUT_EXPORTS,
  AGENT_MESSAGE_MAX_BYTES,
  AGENT_OUTPUT_EXPORTS,
  nodePermissions,
  SERVICES,
  servicePermissions,
  type ServiceName,
} from '@fairlead/contracts';
import { readIfAny, writeWhole } from '../folder/files.js';
import {
  accountFields,
  signClaims,
  userFields,
  userTemplate,
  type AccountClaims,
  type UserPermissions,
} from './claims.js';
import { claimsOfCreds, mintCredentials, type NodeSigning } from './creds.js';
import { keyOfSeed, newKey, type NKey } from './nkey.js';

/** Who has a creds file: each service, and the administrator who makes the streams. */
export type CredentialName = ServiceName | 'admin';
export const CREDENTIAL_NAMES: readonly CredentialName[] = [...SERVICES, 'admin'];

/** Holds what bootstrap-svc needs to sign credentials of nodes: a `NodeSigning` in JSON. */
export const NODE_SIGNING_FILE = 'node-signing.json';

/** Everything that a server needs to trust the credentials, and bootstrap-svc to sign those of nodes. */
export interface NatsCredentials {
  readonly operatorJwt: string;
  readonly system: AccountToken;
  /** The account of the services. */
  readonly account: AccountToken;
  /** The account of the agents: it shares with that of the services what `agent.subjects.ts` lists, and nothing else. */
  readonly nodes: AccountToken;
  /** Mode 0600. */
  readonly nodeSigningFile: string;
  credsFile(name: CredentialName): string;
}

export interface AccountToken {
  readonly publicKey: string;
  readonly jwt: string;
}

/** What is made once and kept; the claims follow from it. In one file, so that a crash cannot leave half an operator. */
interface OperatorSeeds {
  readonly operatorSeed: string;
  readonly systemSeed: string;
  readonly accountSeed: string;
  /** Signs the credentials of services. */
  readonly signingSeed: string;
  readonly nodesSeed: string;
  /** Signs the credentials of nodes, within the scope of `nodeTemplate`. */
  readonly nodeSigningSeed: string;
}

/** An agent hears its own outputs, in one subscription; more are for updates of the agent. */
const NODE_SUBSCRIPTIONS_MAX = 8;

const nodeTemplate = userTemplate(
  nodePermissions({ namespace: '{{tag(namespace)}}', cluster: '{{tag(cluster)}}', node: '{{tag(node)}}' }),
  { subscriptionsMax: NODE_SUBSCRIPTIONS_MAX, payloadMaxBytes: AGENT_MESSAGE_MAX_BYTES },
);

const administrator: UserPermissions = { publish: ['>'], subscribe: ['>'] };

const permissionsOfService = (name: CredentialName): UserPermissions =>
  name === 'admin' ? administrator : servicePermissions(name);

/**
 * The operator, its accounts and a creds file per service in `<dataDir>/keys` and `<dataDir>/creds`; their keys are made once and
 * reused. A creds file whose permissions are no longer those of the code is made anew.
 */
export const ensureCredentials = (
  dataDir: string,
  permissionsOf: (name: CredentialName) => UserPermissions = permissionsOfService,
): NatsCredentials => {
  const operator = operatorOf(ensureSeeds(join(dataDir, 'keys', 'nats-operator.json')));
  const nodeSigningFile = join(dataDir, 'keys', NODE_SIGNING_FILE);
  const nodeSigning = `${JSON.stringify(operator.nodeSigning)}\n`;
  if (readIfAny(nodeSigningFile) !== nodeSigning) writeWhole(nodeSigningFile, nodeSigning);
  const credsFile = (name: CredentialName): string => join(dataDir, 'creds', `${name}.creds`);
  for (const name of CREDENTIAL_NAMES) ensureCreds(credsFile(name), name, permissionsOf(name), operator);
  const { operatorJwt, system, account, nodes } = operator;
  return { operatorJwt, system, account, nodes, nodeSigningFile, credsFile };
};

/** The claims follow from the seeds and from this code: the same ones at each start, whenever that is. */
const ISSUED_AT_SECONDS = 1_700_000_000;

const ensureSeeds = (file: string): OperatorSeeds => {
  const text = readIfAny(file);
  const known = text === undefined ? {} : (JSON.parse(text) as Partial<OperatorSeeds>);
  const seeds: OperatorSeeds = {
    operatorSeed: known.operatorSeed ?? newKey('operator').seed,
    systemSeed: known.systemSeed ?? newKey('account').seed,
    accountSeed: known.accountSeed ?? newKey('account').seed,
    // Before nodes had an account of their own, their credentials were signed by this key: it is replaced, and they end.
    signingSeed: (known.nodesSeed === undefined ? undefined : known.signingSeed) ?? newKey('account').seed,
    nodesSeed: known.nodesSeed ?? newKey('account').seed,
    nodeSigningSeed: known.nodeSigningSeed ?? newKey('account').seed,
  };
  const whole = `${JSON.stringify(seeds, undefined, 2)}\n`;
  if (text !== whole) writeWhole(file, whole);
  return seeds;
};

interface Operator {
  readonly operatorJwt: string;
  readonly system: AccountToken;
  readonly account: AccountToken;
  readonly nodes: AccountToken;
  readonly signingSeed: string;
  readonly nodeSigning: NodeSigning;
}

const operatorOf = (seeds: OperatorSeeds): Operator => {
  const keys = {
    operator: keyOfSeed(seeds.operatorSeed),
    system: keyOfSeed(seeds.systemSeed),
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
        issuedAtSeconds: ISSUED_AT_SECONDS,
      },
      keys.operator,
    ),
  });
  return {
    operatorJwt: signClaims(
      {
        type: 'operator',
        name: 'fairlead',
        subject: keys.operator.publicKey,
        fields: { system_account: keys.system.publicKey },
        issuedAtSeconds: ISSUED_AT_SECONDS,
      },
      keys.operator,
    ),
    system: accountToken('SYS', keys.system, { signingKeys: [], jetStream: false }),
    account: accountToken('FAIRLEAD', keys.account, {
      signingKeys: [keys.signing.publicKey],
      jetStream: true,
      exports: AGENT_OUTPUT_EXPORTS,
      imports: AGENT_INPUT_EXPORTS.map((subject) => ({ subject, account: keys.nodes.publicKey })),
    }),
    nodes: accountToken('NODES', keys.nodes, {
      signingKeys: [{ kind: 'user_scope', key: keys.nodeSigning.publicKey, role: 'node', template: nodeTemplate }],
      jetStream: false,
      exports: AGENT_INPUT_EXPORTS,
      imports: AGENT_OUTPUT_EXPORTS.map((subject) => ({ subject, account: keys.account.publicKey })),
      payloadMaxBytes: AGENT_MESSAGE_MAX_BYTES,
    }),
    signingSeed: seeds.signingSeed,
    nodeSigning: { accountPublicKey: keys.nodes.publicKey, signingSeed: seeds.nodeSigningSeed },
  };
};

const ensureCreds = (file: string, name: CredentialName, permissions: UserPermissions, operator: Operator): void => {
  const known = readIfAny(file);
  if (known !== undefined && isCurrent(known, name, permissions, operator)) return;
  const request = {
    signingSeed: operator.signingSeed,
    accountPublicKey: operator.account.publicKey,
    name,
    permissions,
  };
  writeWhole(file, mintCredentials(request));
};

const isCurrent = (creds: string, name: CredentialName, permissions: UserPermissions, operator: Operator): boolean => {
  const { iss, nats, name: holder } = claimsOfCreds(creds);
  const wanted = userFields(operator.account.publicKey, permissions);
  const same = (field: string): boolean => JSON.stringify(nats[field]) === JSON.stringify(wanted[field]);
  return (
    holder === name && iss === keyOfSeed(operator.signingSeed).publicKey && ['pub', 'sub', 'issuer_account'].every(same)
  );
};
