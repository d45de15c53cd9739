import { join } from 'node:path';
import { SERVICES, servicePermissions, type ServiceName } from '@fairlead/contracts';
import { readIfAny, writeWhole } from '../folder/files.js';
import { signClaims, unlimitedAccount, userFields, type UserPermissions } from './claims.js';
import { claimsOfCreds, mintCredentials } from './creds.js';
import { keyOfSeed, newKey, type NKey } from './nkey.js';

/** Who has a creds file: each service, and the administrator who makes the streams. */
export type CredentialName = ServiceName | 'admin';
export const CREDENTIAL_NAMES: readonly CredentialName[] = [...SERVICES, 'admin'];

export const SIGNING_SEED_FILE = 'account-signing.nk';

/** Everything that a server needs to trust the credentials, and bootstrap-svc to mint more of them. */
export interface NatsCredentials {
  readonly operatorJwt: string;
  readonly system: AccountToken;
  readonly account: AccountToken;
  /** Holds the seed by which credentials for nodes are signed; mode 0600. */
  readonly signingSeedFile: string;
  credsFile(name: CredentialName): string;
}

export interface AccountToken {
  readonly publicKey: string;
  readonly jwt: string;
}

interface OperatorFile {
  readonly operatorSeed: string;
  readonly operatorJwt: string;
  readonly systemSeed: string;
  readonly system: AccountToken;
  readonly accountSeed: string;
  readonly account: AccountToken;
  readonly signingSeed: string;
}

const administrator: UserPermissions = { publish: ['>'], subscribe: ['>'] };

const permissionsOfService = (name: CredentialName): UserPermissions =>
  name === 'admin' ? administrator : servicePermissions(name);

/**
 * The operator, its accounts and a creds file per service in `<dataDir>/keys` and `<dataDir>/creds`, made once and reused.
 * A creds file whose permissions are no longer those of the code is made anew.
 */
export const ensureCredentials = (
  dataDir: string,
  permissionsOf: (name: CredentialName) => UserPermissions = permissionsOfService,
): NatsCredentials => {
  const operator = ensureOperator(join(dataDir, 'keys', 'nats-operator.json'));
  const signingSeedFile = join(dataDir, 'keys', SIGNING_SEED_FILE);
  if (readIfAny(signingSeedFile) !== operator.signingSeed) writeWhole(signingSeedFile, operator.signingSeed);
  const credsFile = (name: CredentialName): string => join(dataDir, 'creds', `${name}.creds`);
  for (const name of CREDENTIAL_NAMES) ensureCreds(credsFile(name), name, permissionsOf(name), operator);
  const { operatorJwt, system, account } = operator;
  return { operatorJwt, system, account, signingSeedFile, credsFile };
};

/** One file, so that a crash cannot leave half an operator. */
const ensureOperator = (file: string): OperatorFile => {
  const known = readIfAny(file);
  if (known !== undefined) return JSON.parse(known) as OperatorFile;
  const made = makeOperator();
  writeWhole(file, `${JSON.stringify(made, undefined, 2)}\n`);
  return made;
};

const makeOperator = (): OperatorFile => {
  const [operator, system, account, signing] = [
    newKey('operator'),
    newKey('account'),
    newKey('account'),
    newKey('account'),
  ];
  const accountToken = (name: string, key: NKey, fields: Readonly<Record<string, unknown>>): AccountToken => {
    const publicKey = key.publicKey;
    return { publicKey, jwt: signClaims({ type: 'account', name, subject: publicKey, fields }, operator) };
  };
  return {
    operatorSeed: operator.seed,
    operatorJwt: signClaims(
      {
        type: 'operator',
        name: 'fairlead',
        subject: operator.publicKey,
        fields: { system_account: system.publicKey },
      },
      operator,
    ),
    systemSeed: system.seed,
    system: accountToken('SYS', system, unlimitedAccount([], false)),
    accountSeed: account.seed,
    account: accountToken('FAIRLEAD', account, unlimitedAccount([signing.publicKey], true)),
    signingSeed: signing.seed,
  };
};

const ensureCreds = (
  file: string,
  name: CredentialName,
  permissions: UserPermissions,
  operator: OperatorFile,
): void => {
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

const isCurrent = (
  creds: string,
  name: CredentialName,
  permissions: UserPermissions,
  operator: OperatorFile,
): boolean => {
  const { iss, nats, name: holder } = claimsOfCreds(creds);
  const wanted = userFields(operator.account.publicKey, permissions);
  const same = (field: string): boolean => JSON.stringify(nats[field]) === JSON.stringify(wanted[field]);
  return (
    holder === name && iss === keyOfSeed(operator.signingSeed).publicKey && ['pub', 'sub', 'issuer_account'].every(same)
  );
};
