import { traitsOf, type LabFaultKind } from '@fairlead/contracts';
import { join } from 'node:path';
import { parseJsonOrUndefined } from '@fairlead/parsers';
import * as z from 'zod';
import { deadlineAfter } from '../time/deadline.js';
import type { Session } from '../command/session.js';
import { readToken } from '../api/access.js';
import { CliFailure, wordsOf } from '../failures.js';

/** The format of the lab. */
export interface LabFault {
  readonly kind: LabFaultKind;
  readonly machine?: string | undefined;
  readonly command?: string | undefined;
  readonly message?: string | undefined;
  readonly delayMs?: number | undefined;
  readonly times?: number | undefined;
  readonly port?: number | undefined;
}

export interface LabOptions {
  readonly connection: string;
  readonly labTokenFile?: string;
}

const TIMEOUT_MS = 15_000;
const ANSWER_LIMITS = { lengthMax: 4 * 1_048_576 };

const Answer = z.object({ items: z.array(z.looseObject({ kind: z.string() })) });
const Refusal = z.object({ message: z.string() });

const noLab = (connection: string, provider: string): CliFailure =>
  new CliFailure('conflict', {
    code: 'cli.no-lab',
    message: `The connection ${connection} is of provider ${provider}, and only the lab, a simulation, has faults`,
    help: 'Name a connection of provider lab with --connection.',
  });

/** Only platform administrators can read the address of a lab. */
const endpointOf = async ({ api }: Session, { connection }: LabOptions): Promise<string> => {
  const view = await api.get('/connections/{connection}', { connection });
  if (!traitsOf(view.provider).isSimulated) throw noLab(connection, view.provider);
  const endpoint = view.settings?.['endpoint'];
  if (typeof endpoint === 'string') return endpoint;
  throw new CliFailure('unauthorised', {
    code: 'cli.lab-hidden',
    message: `The address of the lab of connection ${connection} is shown to administrators of all namespaces only`,
    help: 'Use the token of such an administrator.',
  });
};

const tokenOf = ({ access }: Session, { labTokenFile }: LabOptions): string => {
  const { instance } = access;
  const file = labTokenFile ?? (instance === undefined ? undefined : join(instance.dataDir, 'keys', 'lab.token'));
  if (file === undefined)
    throw new CliFailure('usage', {
      code: 'cli.lab-token-missing',
      message: 'The lab of another machine has a token of its own',
      help: 'Give the file that holds it with --lab-token-file: keys/lab.token of the data folder there.',
    });
  return readToken(file, 'Give the token of the lab with --lab-token-file.');
};

/** undefined: it is no JSON. */
export const labAnswerIn = (text: string): unknown =>
  text === '' ? undefined : parseJsonOrUndefined(text, ANSWER_LIMITS);

const refused = (status: number, body: unknown, endpoint: string): CliFailure => {
  const { message = `it answered ${status}` } = Refusal.safeParse(body).data ?? {};
  return new CliFailure(status === 401 ? 'unauthorised' : 'refused', {
    code: 'cli.lab-refused',
    message: `The lab at ${endpoint} refused: ${message}`,
  });
};

/** Reads or replaces the faults of the lab. */
export const labFaults = async (
  session: Session,
  options: LabOptions,
  items?: readonly LabFault[],
): Promise<readonly LabFault[]> => {
  const endpoint = await endpointOf(session, options);
  const authorization = `Bearer ${tokenOf(session, options)}`;
  const late = deadlineAfter(TIMEOUT_MS);
  const signal = AbortSignal.any([session.io.interrupts.first, late.signal]);
  const response = await fetch(new URL('/v1/faults', endpoint), {
    ...(items === undefined ? {} : { method: 'PUT', body: JSON.stringify({ items }) }),
    headers: { authorization, 'content-type': 'application/json' },
    signal,
  }).catch((error: unknown) => {
    late.clear();
    throw new CliFailure('unreachable', {
      code: 'cli.lab-unreachable',
      message: `The lab at ${endpoint} cannot be reached: ${wordsOf(error)}`,
      help: 'It is reached from the machine that it runs on only.',
      cause: error,
    });
  });
  const body = labAnswerIn(await response.text());
  late.clear();
  if (!response.ok) throw refused(response.status, body, endpoint);
  return (Answer.safeParse(body).data?.items ?? []) as unknown as readonly LabFault[];
};
