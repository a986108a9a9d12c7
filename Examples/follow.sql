-- One pass of a reader in psql. It prints the changes since the position in position.sql, and stores the new position there. psql
-- cannot wait for a notification, so run it in a loop:
--
--     touch position.sql
--     while psql -qX -d "$DATABASE_URL" -f Examples/follow.sql; do sleep 1; done
\set ON_ERROR_STOP on
\set store 00000000-0000-0000-0000-000000000000
\set token 0
\set committed_at -infinity
\set nonce none
\set shape none
\i position.sql
begin isolation level repeatable read, read only;
-- Lock before the snapshot is taken. After an ALTER TABLE that rewrites the table, an older snapshot sees an empty table.
lock table only quake in access share mode;
select store as new_store, token as new_token, committed_at as new_committed_at, nonce as new_nonce,
       history.shape('quake') as new_shape,
       history.check(:'store', :token, :'committed_at', :'nonce') = 'ok' and history.shape('quake') = :'shape' as ok
from history.position() \gset
\if :ok
    select token, author, operation, key, before, row from history.changes(:token, 'quake');
\else
    \echo 'starting over: delete the rows that you have; all rows of the table follow'
    table only quake;
\endif
commit;
\o position.sql
\qecho '\\set store' :new_store
\qecho '\\set token' :new_token
\qecho '\\set committed_at' :'new_committed_at'
\qecho '\\set nonce' :new_nonce
\qecho '\\set shape' :new_shape
