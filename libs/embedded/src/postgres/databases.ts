import { errorCodeOf, wordsOf } from '@fairlead/contracts';
import { Client, escapeIdentifier, escapeLiteral } from 'pg';
import { EnvironmentFault } from '../faults.js';

const CONNECT_TIMEOUT_MS = 10_000;
const DUPLICATE = new Set(['42710', '42P04', '23505']); // Role, database, or a race for either (PostgreSQL, appendix A).
const NOT_SET_UP = new Set(['28P01', '28000', '3D000', '42501']); // Password, role, database, right to connect.
const SET_UP_ATTEMPTS = 3;

/** The name of a service's database and role. */
export const databaseNameOf = (service: string): string => `fairlead_${service.replaceAll('-', '_')}`;

/**
 * One database and one role per service; only the owner may connect. Resolves to the URL of each. If they exist, this
 * costs one connection each; the administrator's URL is used only for missing ones.
 */
export const ensureServiceDatabases = async <Service extends string>(
  adminUrl: string,
  services: readonly Service[],
  passwordOf: (service: Service) => string,
): Promise<Readonly<Record<Service, string>>> => {
  const urls = await Promise.all(
    services.map(async (service) => {
      const url = serviceUrl(adminUrl, databaseNameOf(service), passwordOf(service));
      if (!(await answers(url))) await setUp(adminUrl, databaseNameOf(service), passwordOf(service));
      return [service, url] as const;
    }),
  );
  return Object.fromEntries(urls) as Record<Service, string>;
};

const serviceUrl = (adminUrl: string, name: string, password: string): string => {
  const url = new URL(adminUrl);
  url.username = name;
  url.password = password;
  url.pathname = `/${name}`;
  return url.href;
};

const answers = async (url: string): Promise<boolean> => {
  try {
    await withClient(url, (client) => client.query('select 1'));
    return true;
  } catch (error) {
    if (NOT_SET_UP.has(errorCodeOf(error) ?? '')) return false;
    throw refused(url, 'connect to PostgreSQL', error);
  }
};

const setUp = async (adminUrl: string, name: string, password: string): Promise<void> => {
  const owner = escapeIdentifier(name);
  try {
    await withClient(adminUrl, async (client) => {
      await unlessThere(client, `create role ${owner} login password ${escapeLiteral(password)}`);
      await client.query(`alter role ${owner} login password ${escapeLiteral(password)}`);
      // An administrator that is not a superuser can only assign a database to a role of which it is a member.
      await client.query(`grant ${owner} to current_user`);
      await unlessThere(client, `create database ${owner} owner ${owner}`);
      await client.query(`revoke connect, temporary on database ${owner} from public`);
    });
  } catch (error) {
    throw refused(adminUrl, `set up the database ${name}`, error);
  }
};

/**
 * Several processes may set up at the same time: "already exists" is success, and "template1 is in use" is transient.
 */
const unlessThere = async (client: Client, statement: string): Promise<void> => {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await client.query(statement);
      return;
    } catch (error) {
      if (DUPLICATE.has(errorCodeOf(error) ?? '')) return;
      if (errorCodeOf(error) !== '55006' || attempt === SET_UP_ATTEMPTS) throw error;
    }
  }
};

const withClient = async <Result>(url: string, use: (client: Client) => Promise<Result>): Promise<Result> => {
  const client = new Client({
    connectionString: url,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    application_name: 'fairlead-setup',
  });
  client.on('error', () => undefined); // A lost connection also fails the query in progress, which reports it.
  await client.connect();
  try {
    return await use(client);
  } finally {
    await client.end();
  }
};

const refused = (url: string, operation: string, error: unknown): EnvironmentFault => {
  const { host, pathname } = new URL(url);
  return new EnvironmentFault('database-refused', {
    operation,
    target: host,
    message:
      `PostgreSQL at ${host}${pathname} refused: ${wordsOf(error)}. ` +
      `The role in DATABASE_URL must be able to create roles and databases (createrole, createdb, or a superuser).`,
    cause: error,
  });
};
