import { refuse } from '@fairlead/contracts';
import { z } from 'zod';
import type { ProviderKind } from '../../providers/provider.ports.js';
import { LabClient, type LabLimits } from './lab.client.js';
import { LabProvider } from './lab.provider.js';

const DEFAULT_IMAGE = 'debian-12';

/** Settings of a `lab` connection; what other parts of Fairlead keep there is not looked at. */
const LabSettings = z.object({
  endpoint: z.url({ protocol: /^https?$/ }).describe("The lab's API, e.g. http://127.0.0.1:7070"),
  image: z.string().min(1).default(DEFAULT_IMAGE),
});

/** The lab: a simulation of a cloud. */
export const labKind = (limits: LabLimits): ProviderKind => ({
  name: 'lab',
  open: ({ name, settings }, token) => {
    const parsed = LabSettings.safeParse(settings);
    if (parsed.success) {
      return new LabProvider(new LabClient(parsed.data.endpoint, token, limits), name, parsed.data.image);
    }
    const detail = parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; ');
    return refuse('connection.settings-invalid', { connection: name, detail });
  },
});
