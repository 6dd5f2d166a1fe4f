"""The seed's scopes as permissions, and the groups that hold them. Lists are ordered by what everybody may read."""

from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

SCOPES = [
    ("operator.read", "May read conversations they take part in"),
    ("operator.write", "May write in conversations they take part in"),
    ("operator.questions", "May see and answer the ordinary questions of conversations they take part in"),
    ("operator.sessions.write", "May start conversations and answer what their own runs ask there"),
    ("operator.admin", "May see and do everything"),
]
OF_GROUP = {
    "admins": [codename for codename, _words in SCOPES],
    "operators": ["operator.read", "operator.write", "operator.questions"],
    "guests": ["operator.sessions.write"],
}


def grant_scopes(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Makes the permissions (Django would only after the last migration) and gives them to the groups."""
    content_type, _made = apps.get_model("contenttypes", "ContentType").objects.get_or_create(
        app_label="chat", model="user"
    )
    permissions = apps.get_model("auth", "Permission").objects
    found = {
        codename: permissions.get_or_create(content_type=content_type, codename=codename, defaults={"name": words})[0]
        for codename, words in SCOPES
    }
    groups = apps.get_model("auth", "Group").objects
    for name, scopes in OF_GROUP.items():
        group, _made = groups.get_or_create(name=name)
        group.permissions.add(*(found[scope] for scope in scopes))


def stamp(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """The newest row of a conversation was what it was last active by."""
    apps.get_model("chat", "Conversation").objects.update(stamped_at=models.F("active_at"))


class Migration(migrations.Migration):
    """Depends on the content types that permissions hang on."""

    dependencies = [("chat", "0004_states"), ("contenttypes", "0002_remove_content_type_name")]
    operations = [
        migrations.AlterModelOptions(
            name="user",
            options={"verbose_name": "user", "verbose_name_plural": "users", "permissions": tuple(SCOPES)},
        ),
        migrations.AddField("agent", "is_open", models.BooleanField(default=False)),
        migrations.AddField("conversation", "stamped_at", models.DateTimeField(null=True)),
        migrations.RunPython(stamp, migrations.RunPython.noop),
        migrations.AlterField("conversation", "stamped_at", models.DateTimeField()),
        migrations.RunPython(grant_scopes, migrations.RunPython.noop),
    ]
