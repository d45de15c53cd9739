import { config } from 'zod';

/** Nothing here may make code of text: the policy of the document refuses it. It is set before any schema is made. */
config({ jitless: true });
