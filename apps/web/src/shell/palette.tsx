import { useQuery } from '@tanstack/react-query';
import { Command } from 'cmdk';
import { useState } from 'react';
import { api, dataOf } from '../api.js';
import { go } from '../place.js';
import { useMay, useWhoami } from '../session/session.js';
import { clusterPath, State } from '../ui/ui.js';
import { nextTheme } from './theme.js';

const SHOWN_MAX = 50;
/** Views of a cluster that are found by name. */
const PARTS = [
  ['audit', 'Audit'],
  ['changes', 'Difference'],
  ['snapshots', 'Snapshots'],
  ['hooks', 'Hooks'],
] as const;

/** Everything by name: clusters, views and what can be done there. */
const Palette = ({ onClose }: { readonly onClose: () => void }) => {
  const [search, setSearch] = useState('');
  const mayDo = useMay();
  const { data: who } = useWhoami();
  const mayCreate = who?.roles.some(({ namespace }) => mayDo('operator', namespace)) ?? false;
  const { data } = useQuery({
    queryKey: ['fleet', 'palette', search],
    queryFn: () => dataOf(api.GET('/fleet', { params: { query: { search, limit: SHOWN_MAX } } })),
    placeholderData: (before) => before,
  });
  const open = (...args: Parameters<typeof go>) => {
    go(...args);
    onClose();
  };
  return (
    <Command.Dialog
      open
      onOpenChange={(isOpen) => (isOpen ? undefined : onClose())}
      label="Search and commands"
      overlayClassName="overlay"
      contentClassName="palette"
    >
      <Command.Input value={search} onValueChange={setSearch} placeholder="A cluster, a view, a command …" />
      <Command.List>
        <Command.Empty>Nothing has this name.</Command.Empty>
        <Command.Group heading="Clusters">
          {(data?.items ?? []).map(({ namespace, name, state }) => (
            <Command.Item
              key={`${namespace}/${name}`}
              value={`${namespace}/${name}`}
              onSelect={() => open(clusterPath(namespace, name))}
            >
              <span>
                {namespace}/{name}
              </span>
              <State state={state} />
            </Command.Item>
          ))}
          {(data?.items ?? []).flatMap(({ namespace, name }) => [
            ...PARTS.map(([part, title]) => (
              <Command.Item
                key={`${part} ${namespace}/${name}`}
                value={`${title} ${namespace}/${name}`}
                onSelect={() => open(clusterPath(namespace, name, part))}
              >
                {title} of {namespace}/{name}
              </Command.Item>
            )),
            mayDo('operator', namespace) ? (
              <Command.Item
                key={`upgrade ${namespace}/${name}`}
                value={`upgrade ${namespace}/${name}`}
                onSelect={() => open(clusterPath(namespace, name, 'upgrade'))}
              >
                Upgrade {namespace}/{name} …
              </Command.Item>
            ) : null,
          ])}
        </Command.Group>
        <Command.Group heading="Views">
          <Command.Item onSelect={() => open([])}>Fleet</Command.Item>
          <Command.Item onSelect={() => open(['fleet'], { sort: 'state' })}>
            Fleet, what needs attention first
          </Command.Item>
          {mayCreate ? <Command.Item onSelect={() => open(['create'])}>Create a cluster</Command.Item> : null}
          <Command.Item onSelect={() => open(['connections'])}>Connections</Command.Item>
          <Command.Item onSelect={() => open(['installation'])}>Installation</Command.Item>
          <Command.Item
            onSelect={() => {
              nextTheme();
              onClose();
            }}
          >
            Change colours
          </Command.Item>
        </Command.Group>
      </Command.List>
    </Command.Dialog>
  );
};
export default Palette;
