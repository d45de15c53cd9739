import * as z from 'zod';

export const time = z.string().describe('RFC 3339, UTC');
