import { claimsLookupSubject, claimsUpdateSubject, ExternalFailure, wordsOf } from '@fairlead/contracts';
import type { Msg, NatsConnection } from '@nats-io/transport-node';
import * as z from 'zod';
import type { NodesAccount } from '../../revocations/revocations.ports.js';

const TIMEOUT_MS = 2_000;

/** What a server answers to claims. */
const Answer = z.object({
  data: z.object({ code: z.number(), message: z.string().optional() }).optional(),
  error: z.object({ description: z.string().optional() }).optional(),
});

const failure = (operation: string, target: string, message: string): ExternalFailure =>
  new ExternalFailure({ operation, target, message });

/** The account at a server that keeps claims in a folder (`resolver: { type: full }`), by a user of the system account. */
export const natsAccount = (nc: NatsConnection, account: string): NodesAccount => {
  const ask = async (operation: string, subject: string, text: string): Promise<Msg> => {
    try {
      return await nc.request(subject, text, { timeout: TIMEOUT_MS });
    } catch (error) {
      throw failure(operation, subject, `${wordsOf(error)} (does the server have a full resolver?)`);
    }
  };
  return {
    current: async () => {
      const jwt = (await ask('look up the claims of the nodes', claimsLookupSubject(account), '')).string();
      if (jwt === '') throw failure('look up the claims of the nodes', account, 'the server has none');
      return jwt;
    },
    replace: async (jwt) => {
      const operation = 'replace the claims of the nodes';
      const answer = Answer.safeParse((await ask(operation, claimsUpdateSubject(account), jwt)).json());
      if (!answer.success) throw failure(operation, account, 'the answer of the server is not known');
      const { data, error } = answer.data;
      if (data?.code !== 200) throw failure(operation, account, error?.description ?? data?.message ?? 'no reason');
    },
  };
};
