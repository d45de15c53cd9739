import type { Api } from '../api/api.js';
import { CliFailure } from '../failures.js';

/** A link to the operator's page. */
export interface PageLink {
  readonly url: string;
  /** The expiry of its code; absent if the link has none, and the page asks for a token. */
  readonly expiresAt?: string;
}

/** The code is in the fragment, which browsers do not send to servers. */
const withCode = (server: string, code: string): string => `${server}/#/sign-in/${code}`;

const NO_CODES: ReadonlySet<string> = new Set(['session.code-elsewhere', 'route.unknown']);

/** A link with a one-time sign-in code, on the gateway's machine; otherwise a link to the page. */
export const pageLink = async (api: Api): Promise<PageLink> => {
  try {
    const { code, expiresAt } = (await api.post('/sign-in/codes')).data;
    return { url: withCode(api.access.server, code), expiresAt };
  } catch (error) {
    if (error instanceof CliFailure && NO_CODES.has(error.code)) return { url: `${api.access.server}/` };
    throw error;
  }
};
