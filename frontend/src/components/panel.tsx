import { useId, type ReactNode } from "react";

import classes from "./panel.module.css";

interface Props {
  title: string;
  /** What it is about, in a sentence or two. */
  about?: ReactNode;
  /** What can be done with all of it, at the right of the title. */
  actions?: ReactNode;
  children: ReactNode;
}

/** A named part of a page. */
export function Panel({ title, about, actions, children }: Props) {
  const id = useId();
  return (
    <section aria-labelledby={id} className={classes.panel}>
      <div className={classes.head}>
        <h2 id={id}>{title}</h2>
        {actions}
      </div>
      {about !== undefined && <p className={classes.about}>{about}</p>}
      {children}
    </section>
  );
}

/** Says in words what the reader may not do here, and who may. */
export function NotAllowed({ children }: { children: ReactNode }) {
  return <p className={classes.denied}>{children}</p>;
}

/** Facts with their names, in columns of one width. */
export function Facts({ children }: { children: ReactNode }) {
  return <dl className={classes.facts}>{children}</dl>;
}

/** One of them; `about` says more in small. */
export function Fact({
  name,
  about,
  children,
}: {
  name: string;
  about?: ReactNode;
  children: ReactNode;
}) {
  return (
    <div className={classes.fact}>
      <dt>{name}</dt>
      <dd>
        {children}
        {about !== undefined && <span className={classes.more}>{about}</span>}
      </dd>
    </div>
  );
}
