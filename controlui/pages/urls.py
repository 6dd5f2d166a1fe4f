"""Addresses of the pages."""

from __future__ import annotations

from django.urls import path

from .views import conversation, deliveries, dock, home, language, live, messages, sign_in, start

urlpatterns = [
    path("", home.home, name="home"),
    path("new/", start.start, name="start"),
    path("c/<str:uid>/", conversation.conversation, name="conversation"),
    path("c/<str:uid>/older", conversation.older, name="older"),
    path("c/<str:uid>/dock", dock.dock, name="dock"),
    path("c/<str:uid>/draft", dock.draft, name="draft"),
    path("c/<str:uid>/live", live.live, name="live"),
    path("c/<str:uid>/messages", messages.messages, name="messages"),
    path("c/<str:uid>/deliveries/<str:delivery_uid>", deliveries.delivery, name="delivery"),
    path("c/<str:uid>/composer-draft", messages.composer_draft, name="composer-draft"),
    path("sign-in/", sign_in.sign_in, name="sign-in"),
    path("sign-in/<str:token>/", sign_in.link, name="sign-in-link"),
    path("sign-out/", sign_in.sign_out, name="sign-out"),
    path("language/", language.language, name="language"),
]
