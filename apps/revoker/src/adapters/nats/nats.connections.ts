import {
  accountConnectionsSubject,
  accountReportsSubject,
  closeConnectionSubject,
  ExternalFailure,
  wordsOf,
} from '@fairlead/contracts';
import type { Msg, NatsConnection } from '@nats-io/transport-node';
import * as z from 'zod';
import type { AccountConnections, ConnectionReport, NodeConnection } from '../../connections/connections.ports.js';

const TIMEOUT_MS = 5_000;
/** Each has its claims with it. */
const PAGE = 250;
const PAGES_MAX = 400;

/** What servers report of a client, as far as it is read. The server has verified the claims. */
const Client = z.object({ id: z.number(), jwt: z.string() });
const Report = z.object({ server: z.object({ id: z.string() }), client: Client });
const Page = z.object({
  server: z.object({ id: z.string() }),
  data: z.object({ connections: z.array(z.object({ cid: z.number(), jwt: z.string().optional() })) }),
});
const UserClaims = z.object({ sub: z.string(), name: z.string() });

const jsonOf = (text: string): unknown => {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
};

/** The user in the claims: what a client calls itself beside them can be anything. */
const connectionOf = (server: string, id: number, jwt: string): NodeConnection | undefined => {
  const claims = UserClaims.safeParse(jsonOf(Buffer.from(jwt.split('.')[1] ?? '', 'base64url').toString('utf8'))).data;
  return claims && { server, id, user: claims.sub, node: claims.name };
};

const reportIn = (message: Msg): ConnectionReport | undefined => {
  const report = Report.safeParse(jsonOf(message.string())).data;
  if (report === undefined) return undefined;
  const { server, client } = report;
  if (message.subject.endsWith('.DISCONNECT'))
    return { kind: 'closed', connection: { server: server.id, id: client.id } };
  const connection = connectionOf(server.id, client.id, client.jwt);
  return connection && { kind: 'opened', connection };
};

/** The connections of an account at a server, by a user of the system account. */
export const natsConnections = (
  nc: NatsConnection,
  account: string,
  say: (level: 'warn', sentence: string) => void,
): AccountConnections => {
  const page = async (offset: number): Promise<readonly (NodeConnection | undefined)[]> => {
    const subject = accountConnectionsSubject(account);
    const failure = (message: string): ExternalFailure =>
      new ExternalFailure({ operation: 'list the connections of nodes', target: subject, message });
    const query = JSON.stringify({ auth: true, offset, limit: PAGE, sort: 'cid' });
    const answer = await nc.request(subject, query, { timeout: TIMEOUT_MS }).catch((error: unknown) => {
      throw failure(wordsOf(error));
    });
    const read = Page.safeParse(jsonOf(answer.string()));
    if (!read.success) throw failure('the answer of the server is not known');
    const { server, data } = read.data;
    return data.connections.map(({ cid, jwt = '' }) => connectionOf(server.id, cid, jwt));
  };
  return {
    list: async () => {
      const all: NodeConnection[] = [];
      for (let count = 0; count < PAGES_MAX; count += 1) {
        const some = await page(count * PAGE);
        for (const connection of some) if (connection !== undefined) all.push(connection);
        if (some.length < PAGE) break;
      }
      return all;
    },
    follow: (onReport) => {
      nc.subscribe(accountReportsSubject(account), {
        callback: (error, message) => {
          const report = error === null ? reportIn(message) : undefined;
          if (report !== undefined) onReport(report);
        },
      });
    },
    // What the server answers is not awaited: it reports a connection that it has closed, and one that is gone needs nothing.
    close: ({ server, id }) =>
      void nc
        .request(closeConnectionSubject(server), JSON.stringify({ cid: id }), { timeout: TIMEOUT_MS })
        .catch((error: unknown) =>
          say(
            'warn',
            `closing the connection of a node failed: connection ${id} of server ${server}: ${wordsOf(error)}`,
          ),
        ),
  };
};
